/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions with the names that compilers of other languages give them, and one that would hurt a terminal. */
__attribute__((noinline)) int member(int x) __asm__("_ZN5store4findERKNS_3keyE");
__attribute__((noinline)) int hashed(int x) __asm__("_ZN4core3fmt5write17h0123456789abcdefE");
__attribute__((noinline)) int wrong(int x) __asm__("_ZN99never");

int member(int x)
{
	return x + 1;
}
int hashed(int x)
{
	return x + 2;
}
int wrong(int x)
{
	return x + 3;
}
__attribute__((noinline)) static int plain(int x)
{
	return member(x) + hashed(x) + wrong(x);
}
int main(int argc, char **argv)
{
	(void)argv;
	return plain(argc) == 0;
}
