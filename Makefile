# The front door. The work is done by CMake (CMakePresets.json) and by the scripts in tools/dev; this names it.

PRESET  ?= openmpi
PREFIX  ?= /usr/local
OPTIONS ?=
JOBS    ?= $(shell nproc)

MAKEFLAGS += --no-print-directory
RUN := tools/dev/run-tests --jobs $(JOBS)
.DEFAULT_GOAL := help
.PHONY: help demo test test-quick build bench nightly docs format lint install clean packages

help: ## this text
	@echo 'cobre-comm: write a parallel program once, run it as one process or as many. Start with:'
	@echo
	@echo '  make demo          see it compute something'
	@echo '  make test          every configuration, every check (what CI runs)'
	@echo
	@echo 'Both install what is missing from tools/dev/packages.txt (or tell you how). While working:'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / && !/^(demo|test|help):/ {printf "  make %-13s %s\n", $$1, $$2}' Makefile
	@echo
	@echo 'PRESET=$(PRESET) picks the configuration for build: openmpi mpich asan tsan clang local.'
	@echo 'Everything is built below build/<preset>, with a log of each step. CONTRIBUTING.md explains the rest.'

demo: packages ## see it compute something
	@tools/dev/build --jobs $(JOBS) openmpi demo

test: packages ## every configuration, every check
	@$(RUN)

test-quick: packages ## one configuration without its long tests, under three minutes after a build
	@$(RUN) --quick

build: packages ## compile everything for PRESET
	@tools/dev/build --jobs $(JOBS) $(PRESET)

bench: packages ## build and run the benchmarks
	@tools/dev/build --jobs $(JOBS) openmpi bench

nightly: packages ## measure for some twenty minutes, fail where a stored ratio of bench/ became 15 % worse
	@tools/dev/build --jobs $(JOBS) openmpi nightly

docs: packages ## the site and the reference of every class, in build/docs/site
	@tools/dev/build-docs

format: packages ## lay out all sources
	@tools/dev/format

lint: packages ## clang-tidy over include, src, examples and the command (LINT_FILES="a.cpp b.cpp" for some)
	@tools/dev/lint --jobs $(JOBS) $(LINT_FILES)

install: packages ## build without tests and install to PREFIX=/usr/local (OPTIONS="-DCOBRE_COMM_MPI=OFF" …)
	@tools/dev/build --jobs $(JOBS) --options "$(OPTIONS)" release
	@cmake --install build/release --prefix "$(PREFIX)" > build/release/install.log
	@echo "Installed to $(PREFIX)."

.PHONY: package package-test
package: packages ## Debian packages, in build/package/packages
	@tools/dev/package --jobs $(JOBS)

package-test: packages ## the same, then installs and uses them in a clean Debian (root, two minutes)
	@tools/dev/package --jobs $(JOBS) --test

clean: ## remove build/
	@rm -rf build

packages:
	@tools/dev/install-packages
