# SPDX-License-Identifier: LGPL-2.1-or-later
# A thin front of meson and ninja: each target installs what is missing, configures, builds.

BUILD  ?= build
PREFIX ?= /usr/local
CMD    ?= ls /
MESON_ARGS ?=

.PHONY: all deps setup trace check check-vm bench fuzz install clean format

all: setup
	@ninja -C $(BUILD) $(NINJA_QUIET)
	@ln -sf src/cli/espy $(BUILD)/espy

# As root this installs Debian's packages; otherwise it prints the one command to run.
deps:
	@tools/deps build

setup: deps
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --prefix=$(PREFIX) $(MESON_ARGS) >$(BUILD).log 2>&1 || \
		{ cat $(BUILD).log; rm -rf $(BUILD); exit 1; }
	@rm -f $(BUILD).log

trace: NINJA_QUIET = --quiet
trace: all
	@$(BUILD)/espy trace $(CMD)

check: all
	@tools/deps test
	@tests/run $(BUILD)

check-vm: all
	@tools/deps vm
	@tests/vm/run $(BUILD)

bench: all
	@bench/run $(BUILD)

fuzz: deps
	@fuzz/run

install: all
	@meson install -C $(BUILD)

format:
	@git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror

clean:
	rm -rf $(BUILD)
