# Verbena. `make` builds with cargo and a C compiler; `make install` installs what was built, and
# needs strip (binutils). `make demo` and `make test` install the packages that they need first.
PREFIX ?= /usr/local
LIBDIR ?= lib
BUILD := $(or $(CARGO_TARGET_DIR),target)/release
STAGE := $(CURDIR)/target/stage
VENV := $(CURDIR)/target/venv
MPI4PY := mpi4py==4.1.2
# The packages that are installed (xtask/src/crates.rs has them too), and when and from what they
# were built.
INSTALLED := verbena verbena-abi verbena-fortran verbena-launch verbena-mpich verbena-mpifort
BUILT := $(BUILD)/.verbena-built
SOURCES := Cargo.toml Cargo.lock $(shell find api crates -type f)
CARGO_BUILD := cargo build --release --locked $(INSTALLED:%=-p %)
# The sources of the Fortran modules are made by a build script: cargo says to which folder.
OUT_DIR := s/.*"build-script-executed".*verbena-fortran@.*"out_dir":"\([^"]*\)".*/\1/p

# A word for the shell, whatever characters it holds.
quoted = '$(subst ','\'',$(1))'
# Make takes variables from the environment too: there FORCE is another program's.
FORCED := $(if $(filter command-1,$(firstword $(origin FORCE))-$(FORCE)),--force)

.NOTPARALLEL:
.DEFAULT_GOAL := build
.PHONY: help deps deps-build deps-demo deps-test build stage mpi4py stock demo test apps bench check install uninstall

help:
	@echo "make                       build (needs cargo and a C compiler; installs nothing)"
	@echo "make install PREFIX=DIR    install what was built into DIR (default /usr/local); needs strip, and no cargo then"
	@echo "                           also: DESTDIR=DIR, LIBDIR=lib64, DEBUG=1 (with debug symbols),"
	@echo "                           FORCE=1 (replace files that Verbena did not install)"
	@echo "make uninstall PREFIX=DIR  remove the files that make install put there, and the folders that it made"
	@echo "make demo                  build, then run a C program and mpi4py's own demos on Verbena"
	@echo "make test                  run every test"
	@echo "make apps                  fetch, build and check applications (NPB=DIR, ARMCI=DIR: NAS benchmarks, ARMCI-MPI built in DIR; ROMIO=DIR, IOR=DIR, ULFM=DIR: ROMIO's tests of MPICH's source, IOR's source, and ulfm-testing, in DIR; APPS=\"--peers\": timed beside MPICH and Open MPI)"
	@echo "make bench                 measure Verbena on this machine (verbena bench)"

deps: deps-test

deps-build deps-demo deps-test:
	@packaging/install-deps $(@:deps-%=%)

build: deps-build
	$(CARGO_BUILD)
	@mkdir -p $(BUILD)/fortran && cp "$$($(CARGO_BUILD) --quiet --message-format=json | sed -n '$(OUT_DIR)')"/generated/*.f90 $(BUILD)/fortran
	@touch $(BUILT)

# Files that changed after the build are built first.
$(BUILT): $(SOURCES)
	@$(MAKE) --no-print-directory build

install: $(BUILT)
	@DESTDIR=$(call quoted,$(DESTDIR)) LIBDIR=$(call quoted,$(LIBDIR)) BUILD=$(call quoted,$(BUILD)) \
		packaging/install $(if $(filter 1,$(DEBUG)),--debug) $(FORCED) $(call quoted,$(PREFIX))

uninstall:
	@DESTDIR=$(call quoted,$(DESTDIR)) packaging/uninstall $(call quoted,$(PREFIX))

# A whole installation under target/, which the demo and the tests use as a user would use theirs.
# The symbols are kept beside it for those who debug a test: the tests themselves read none.
stage: build
	@DESTDIR= LIBDIR=lib packaging/install --debug --force $(STAGE)

# mpi4py from its unmodified source distribution, built by our mpicc; kept while our header and the
# stage stay.
mpi4py: deps-demo stage
	@packaging/build-mpi4py $(VENV) $(STAGE) $(MPI4PY)

# mpi4py's stock wheel, which is built for the MPICH ABI.
stock: mpi4py
	@packaging/stock-mpi4py $(VENV)-stock $(MPI4PY)

demo: mpi4py
	@packaging/demo $(STAGE) $(VENV)

test: deps-test
	packaging/run-tests $(STAGE) $(VENV)

# Applications of others, over shared memory and on virtual nodes: tests/src/apps says what they
# are.
apps: deps-test stage
	cargo xtask apps $(if $(NPB),--npb $(NPB)) $(if $(ARMCI),--armci $(ARMCI)) $(if $(ROMIO),--romio $(ROMIO)) $(if $(IOR),--ior $(IOR)) $(if $(ULFM),--ulfm $(ULFM)) $(APPS)

bench: stage
	$(STAGE)/bin/verbena bench

check: deps-build
	cargo fmt --all --check
	cargo xtask tidy
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo xtask generate --check
