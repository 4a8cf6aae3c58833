# Verbena. The two commands: `make demo` and `make test`; each installs what is missing first.
PREFIX ?= /usr/local
STAGE := $(CURDIR)/target/stage
VENV := $(CURDIR)/target/venv
MPI4PY := mpi4py==4.1.2

.PHONY: help deps build stage mpi4py stock demo test apps bench check install

help:
	@echo "make demo                  build, then run a C program and mpi4py's own demos on Verbena"
	@echo "make test                  run every test"
	@echo "make apps                  fetch, build and check applications (NPB=DIR: NAS benchmarks built in DIR; APPS=\"--peers\": timed beside MPICH and Open MPI)"
	@echo "make bench                 measure Verbena on this machine (verbena bench)"
	@echo "make install PREFIX=DIR    install into DIR (default /usr/local)"

deps:
	@packaging/install-deps

build: deps
	cargo build --release --locked

# A whole installation under target/, which the demo and the tests use as a user would use theirs.
stage: build
	@packaging/install $(STAGE)

# mpi4py from its unmodified source distribution, built by our mpicc; kept while our header and the stage stay.
mpi4py: stage
	@packaging/build-mpi4py $(VENV) $(STAGE) $(MPI4PY)

# mpi4py's stock wheel, which is built for the MPICH ABI.
stock: mpi4py
	@packaging/stock-mpi4py $(VENV)-stock $(MPI4PY)

demo: mpi4py
	@packaging/demo $(STAGE) $(VENV)

test: stock
	packaging/run-tests $(STAGE) $(VENV)

# Applications of others, over shared memory and on virtual nodes: tests/src/apps says what they are.
apps: stage
	cargo xtask apps $(if $(NPB),--npb $(NPB)) $(APPS)

bench: stage
	$(STAGE)/bin/verbena bench

check: deps
	cargo fmt --all --check
	cargo xtask tidy
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo xtask generate --check

install: build
	@packaging/install $(PREFIX)
