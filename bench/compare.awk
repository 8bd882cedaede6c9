# SPDX-License-Identifier: LGPL-2.1-or-later
# The table of bench/compare, of lines FIGURE<TAB>UNIT<TAB>ROUND<TAB>SIDE<TAB>VALUE; side: old, new, or floor (one value for both). Status 1:
# a row is worse. The rule stands in bench/compare.
function sorted(a, n,    i, j, x) {
	for (i = 2; i <= n; i++) {
		x = a[i]
		for (j = i - 1; j >= 1 && a[j] > x; j--) a[j + 1] = a[j]
		a[j + 1] = x
	}
}
# between the values of a sorted array, in proportion
function quantile(a, n, q,    at, low) {
	at = 1 + (n - 1) * q
	low = int(at)
	return low >= n ? a[n] : a[low] + (at - low) * (a[low + 1] - a[low])
}
# Values of one side, sorted, of the rounds that gave the other side (other) a value, too; "": of all rounds. Returns how many.
function of_side(f, side, other,    r, n) {
	n = 0
	split("", list)
	for (r = 1; r <= rounds; r++)
		if ((f, r, side) in v && (other == "" || (f, r, other) in v)) list[++n] = v[f, r, side]
	sorted(list, n)
	return n
}
function text(n, x) { return n ? sprintf(x >= 100 ? "%.0f" : x >= 10 ? "%.1f" : "%.2f", x) : "-" }
BEGIN {
	FS = "\t"
}
{
	if (!($1 in unit)) { unit[$1] = $2; order[++figures] = $1 }
	if ($5 + 0 > 0) v[$1, $3, $4] = $5 + 0
}
END {
	printf "%-32s %-13s %9s %9s %9s  %-13s\n", "", "", "old", "new", "new/old", "spread"
	for (i = 1; i <= figures; i++) {
		f = order[i]
		if (of_side(f, "floor", "")) {
			printf "%-32s %-13s %19s\n", f, unit[f], text(1, quantile(list, of_side(f, "floor", ""), .5))
			continue
		}
		split("", ratios)
		mark = "-"; ratio = spread = ""
		n = 0
		for (r = 1; r <= rounds; r++)
			if ((f, r, "old") in v && (f, r, "new") in v) ratios[++n] = v[f, r, "new"] / v[f, r, "old"]
		olds = of_side(f, "old", n ? "new" : ""); old = olds ? quantile(list, olds, .5) : 0
		news = of_side(f, "new", n ? "old" : ""); new = news ? quantile(list, news, .5) : 0
		if (olds && !news) mark = "worse"
		if (n) {
			sorted(ratios, n)
			low = quantile(ratios, n, .25); high = quantile(ratios, n, .75)
			mark = new / old > 1.05 && low > 1 ? "worse" : new / old < 1 / 1.05 && high < 1 ? "better" : "same"
			ratio = sprintf("%.3f", new / old)
			spread = sprintf("%.3f-%.3f", low, high)
		}
		worse += mark == "worse"
		printf "%-32s %-13s %9s %9s %9s  %-13s %s\n", f, unit[f], text(olds, old), text(news, new), ratio, spread, mark
	}
	printf "\nworse: the ratio of the medians is above 1.05, and the quartiles of the ratios of single rounds (spread) are both above 1.\n"
	printf "better: below 1/1.05, and both below 1. %d of %d rows are worse.\n", worse, figures
	exit worse > 0
}
