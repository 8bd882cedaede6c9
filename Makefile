# SPDX-License-Identifier: LGPL-2.1-or-later
# A thin front of meson and ninja: each target installs what is missing, configures, builds.

BUILD  ?= build
PREFIX ?= /usr/local
CMD    ?= ls /
MESON_ARGS ?=

.PHONY: all deps setup trace check check-all check-vm bench fuzz install uninstall clean format

all: setup
	@ninja -C $(BUILD)
	@ln -sf src/cli/espy $(BUILD)/espy

# As root this installs Debian's packages; otherwise it prints the one command to run.
deps:
	@tools/deps build

setup: deps
	@test -f $(BUILD)/build.ninja || { echo "espy: configuring $(BUILD)" >&2; \
		meson setup $(BUILD) --prefix=$(abspath $(PREFIX)) $(MESON_ARGS) >$(BUILD).log 2>&1; } || \
		{ cat $(BUILD).log; rm -rf $(BUILD); exit 1; }
	@rm -f $(BUILD).log

# Standard output is for what CMD prints: what is built is said on standard error, and only if there is something to build.
trace: setup
	@steps=$$(ninja -C $(BUILD) -n command | sed -n 's,^\[1/\([0-9]*\)\].*,\1,p'); \
		test -z "$$steps" || echo "espy: building $(BUILD)/espy in $$steps steps; the first time this takes a minute or two" >&2
	@ninja -C $(BUILD) $$(test -t 2 || echo --quiet) command >&2
	@ln -sf src/cli/espy $(BUILD)/espy
	@$(BUILD)/espy trace $(CMD)

check: all
	@tools/deps test
	@tests/run $(BUILD)

# Everything: also storms, sanitizers, slow machines, another kernel, fuzzing. About half an hour; it says how long it took.
check-all: all
	@tools/deps test
	@tools/deps vm
	@tests/all $(BUILD)

check-vm: all
	@tools/deps vm
	@tests/vm/run $(BUILD)

bench: all
	@tools/deps bench || true
	@bench/run $(BUILD)

fuzz: deps
	@fuzz/run

# A PREFIX that is given holds from now on, also for what was built for another one.
install: setup
	@test "$(origin PREFIX)" = file || meson configure $(BUILD) --prefix=$(abspath $(PREFIX)) >/dev/null
	@meson install -C $(BUILD)
	@tools/installed keep $(BUILD) "$$(meson introspect --buildoptions $(BUILD) | \
		python3 -c 'import json, sys; print([o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"][0])')"

# Removes what `make install` of this build has written under PREFIX, and the directories that it has made; without PREFIX what the
# last one has written.
uninstall:
	@tools/installed remove $(BUILD) $(if $(filter file,$(origin PREFIX)),,$(abspath $(PREFIX)))

format:
	@git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror

clean:
	rm -rf $(BUILD)
