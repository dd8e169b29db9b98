# The commands for people; `make` alone lists them. The work is done by cargo, by `stampede` itself
# and by the scripts in scripts/.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PREFIX ?= /usr/local
DESTDIR ?=
# Which parts of the bench to run and for how long, as `truth rounds=3`; empty: all of it.
BENCH ?=
# Parts of `make test-roots`; empty: all of them.
ROOTS ?=
# `make bench BASE=REV` compares with this revision only, in alternating pairs.
BASE ?=
# Named here and passed to cargo, so that the caller's `CARGO_TARGET_DIR` works.
TARGET := $(or $(CARGO_TARGET_DIR),target)
STAMPEDE := $(TARGET)/release/stampede
RUST := scripts/with-rust
GENERATOR := $(RUST) cargo run --quiet --release --locked --package stampede-load --example generator --target-dir $(TARGET) --

.PHONY: help
help: ## What there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# Rust comes first: if it is missing, this is reported before anything is installed.
.PHONY: demo
demo: ## Install what is missing, build, and compare PHP runtimes with a Symfony app (three minutes)
	@$(RUST) true
	@scripts/install-packages demo
	@$(RUST) cargo build --release --locked --package stampede --target-dir $(TARGET)
	@$(STAMPEDE) demo

.PHONY: packaged
packaged: ## The same for nine runtimes that Debian packages
	@$(RUST) true
	@scripts/install-packages build packaged
	@$(RUST) cargo build --release --locked --package stampede --target-dir $(TARGET)
	@$(STAMPEDE) compare plans/packaged.yaml

.PHONY: workers
workers: ## PHP that stays in memory against PHP that does not (makes RoadRunner and FrankenPHP with Go)
	@$(RUST) true
	@scripts/install-packages demo
	@$(RUST) cargo build --release --locked --package stampede --target-dir $(TARGET)
	@$(STAMPEDE) install --build roadrunner,frankenphp
	@$(STAMPEDE) compare plans/workers.yaml

.PHONY: frameworks
frameworks: ## Symfony, Laravel and Lumen where they boot for each request and where they stay
	@$(RUST) true
	@scripts/install-packages demo frameworks
	@$(RUST) cargo build --release --locked --package stampede --target-dir $(TARGET)
	@$(STAMPEDE) install --build roadrunner,frankenphp
	@$(STAMPEDE) compare plans/frameworks.yaml

.PHONY: databases
databases: ## What SQLite, PostgreSQL and MariaDB cost below PHP
	@$(RUST) true
	@scripts/install-packages demo databases
	@$(RUST) cargo build --release --locked --package stampede --target-dir $(TARGET)
	@$(STAMPEDE) compare plans/database.yaml

.PHONY: build
build: ## Build the release binary
	@$(RUST) true
	@scripts/install-packages build
	@$(RUST) cargo build --release --locked --package stampede --target-dir $(TARGET)
	@echo "built: $(STAMPEDE)"

.PHONY: check
check: ## Format, lints, house rules, unit tests
	@$(RUST) --components true
	@$(RUST) cargo xtask check

.PHONY: test
test: test-packages ## Install what tests need, then run all tests but the longest
	@$(RUST) cargo xtask ci

.PHONY: test-packages
test-packages:
	@$(RUST) --components true
	@scripts/install-packages test
	@if command -v npm >/dev/null; then scripts/install-packages page; fi

# A build that prints the code of each fact and error in place of its sentence. So no passing test
# depends on a wording.
.PHONY: test-codes
test-codes: ## Run tests in a build without sentences: nothing may depend on a wording
	@$(RUST) cargo xtask codes

# `make test-all WITHIN=75m` starts no long test after 75 minutes, and leaves `test-codes` out.
.PHONY: test-all
test-all: test-packages ## Every test, the long ones too, and the quick ones of `test-codes`
	@$(RUST) cargo xtask all $(WITHIN)

# Needs Go. Its tests are in no other target: a control plane takes minutes to build and 1 GB to run.
.PHONY: test-kubernetes
test-kubernetes: ## Agents as Jobs in a real control plane of Kubernetes (needs Go)
	@cluster=$$(scripts/build-cluster) && \
		$(RUST) env STAMPEDE_TEST_CLUSTER="$$cluster" \
		cargo test --locked --package stampede --test it -- --ignored --test-threads 1 kubernetes

# Does not depend on `build`: `sudo make install` must not build as root what `make build` built.
.PHONY: install
install: ## Install binary, man page and completions below PREFIX (default /usr/local)
	@[[ -x $(STAMPEDE) ]] || { echo "error: there is no \`$(STAMPEDE)\` yet" >&2; echo >&2; echo "hint: make build" >&2; exit 2; }
	@scripts/install-files $(STAMPEDE) "$(DESTDIR)$(PREFIX)"

.PHONY: uninstall
uninstall: ## Remove what `make install` installed below PREFIX
	@sh packaging/install.sh --uninstall --prefix "$(DESTDIR)$(PREFIX)"

.PHONY: dist
dist: ## Static binaries for x86_64 and aarch64 in target/dist, with sums, SBOM and licences
	@$(RUST) scripts/dist-tools
	@$(RUST) cargo xtask dist

# Takes as long as `make dist` does from nothing, so no other target runs it.
.PHONY: dist-verify
dist-verify: ## The same once more at another path: each byte must be the same
	@$(RUST) cargo xtask dist --verify

.PHONY: deb
deb: ## Debian packages of the binaries that `make dist` made
	@$(RUST) scripts/dist-tools deb
	@$(RUST) cargo xtask deb

.PHONY: images
images: ## Container images `stampede` and `stampede:all` of the static binary (needs Docker)
	@scripts/build-images

# Long, and only root can. The parts can be named: make test-roots ROOTS="bookworm empty"
.PHONY: test-roots
test-roots: ## Try the results of `make dist deb` in fresh roots (root only)
	@scripts/test-roots $(ROOTS)

.PHONY: bench
bench: ## Measure the load generator itself, beside others (40 minutes on an idle machine)
	@$(RUST) true
	@scripts/install-packages bench
	@$(RUST) cargo build --quiet --release --locked --package stampede --target-dir $(TARGET)
	@if [[ -n "$(BASE)" ]]; then BASE_PROGRAM=$$(scripts/build-base "$(BASE)") $(GENERATOR) base $(BENCH); else $(GENERATOR) $(BENCH); fi

.PHONY: clean
clean: ## Remove what was built; results stay
	@$(RUST) cargo clean --target-dir $(TARGET)
