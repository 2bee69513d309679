# On a fresh machine (Debian 12 with cargo), two commands do everything:
#   make showdown   builds firstbyte, installs what the corpus needs, and runs the showdown
#   make test       installs what the tests need, and runs all of them

CARGO ?= cargo
HOST := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
FIRSTBYTE := target/$(HOST)/release/firstbyte
SHOWDOWN ?=

.PHONY: all showdown corpus-all test lint unit proofs kernels kernels-ci frames frames-arm64 prometheus soak kill stress fuzz level0 dist dist-try publish bench bench-check figures build-needs clean

all: $(FIRSTBYTE)

# Installs clang, which the build needs. Afterwards `firstbyte doctor` reports what else is missing.
build-needs:
	@scripts/build-needs

.PHONY: $(FIRSTBYTE)
$(FIRSTBYTE): build-needs
	$(CARGO) build --release --locked $(shell scripts/features)

showdown: $(FIRSTBYTE)
	$(FIRSTBYTE) doctor --install
	$(FIRSTBYTE) showdown $(SHOWDOWN)

# Installs the tools of all languages (4 GB), builds, checks and measures all programs, and writes docs/languages.md.
# LANGUAGES=FOLDER is where the results go, and FOLDER/languages.html sorts and filters them. What is complete there is not
# measured again. ROUNDS='WARM COLD TRACE' is how often each program runs. Needs an idle machine, and about an hour.
LANGUAGES ?= results/$(shell date +%F)
ROUNDS ?= 10 3 3
corpus-all: $(FIRSTBYTE)
	$(FIRSTBYTE) doctor --install --all --yes || echo 'some tools could not be installed: their programs are skipped' >&2
	scripts/figures/languages.py measure $(FIRSTBYTE) $(LANGUAGES) $(ROUNDS)
	scripts/figures/languages.py page $(LANGUAGES) docs/languages.md

test: build-needs
	$(CARGO) test --workspace --locked --no-run $(shell scripts/features)
	target/$(HOST)/debug/firstbyte doctor --install --tests
	scripts/build-needs browser
	npm ci --prefix tests/browser --ignore-scripts --no-audit --no-fund
	command -v bun >/dev/null && command -v deno >/dev/null || npm install --global --no-audit --no-fund bun deno || \
		echo 'help: sudo npm install --global bun deno; without them, tests of their marks are skipped' >&2
	$(MAKE) lint unit

lint:
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	fuzz/run --check

# One more test at a time than there are processors, because many of them wait. What part of the time a program spends where
# changes with what else runs, so tests of such shares come afterwards, alone.
unit:
	RUST_TEST_THREADS=$$(($$(nproc) + 1)) $(CARGO) test --workspace --locked
	$(CARGO) test --workspace --locked --test integration -- --ignored --test-threads 1 --skip frames_truth share

# The slow tests, which CI runs after `make test`. They start our executables as /init of real kernels (emulated, so this
# works on any machine). Then, in a release build, they run the exhaustive searches, all lengths, and a large number of
# nearly valid files.
PROOFS = $(CARGO) test --release --locked --test integration --
proofs: $(FIRSTBYTE)
	scripts/limits
	scripts/build-needs proofs
	tests/qemu/run
	$(PROOFS) --ignored --nocapture --skip elf_kernels --skip prometheus_real --skip share --skip frames_truth
	$(PROOFS) --ignored --nocapture --test-threads 1 frames_truth
	FIRSTBYTE_FUZZ_CASES=100000 $(PROOFS) --nocapture fuzz::nearly_right_documents
	FIRSTBYTE_FUZZ_CASES=1000000 $(PROOFS) --nocapture fuzz::nearly_right_budgets

# Boots Debian's kernels from 5.10 to sid's on x86-64 and arm64 and checks firstbyte on each. Takes half an hour.
# KERNELS=--quick boots only the oldest and the newest of each architecture.
KERNELS ?= --markdown docs/kernels.md
kernels: build-needs
	scripts/build-needs kernels
	tests/kernels/run $(KERNELS)

# Tests the functions of interpreted programs with the interpreters of this machine, of Debian's and Ubuntu's suites and of
# npm, which it gets as root (8 GB), and writes the table of those that were true. Takes an hour. FIRSTBYTE_PERLS and the like
# name further ones: scripts/frames.
frames: build-needs
	scripts/build-needs frames
	scripts/frames-systems target/frames
	scripts/frames --write docs/languages-in-traces.md

# The same on arm64, emulated, with interpreters of Debian: those of FIRSTBYTE_SUITE (trixie). FIRSTBYTE_ARM64_CPU is qemu's
# processor: `max,pauth-impdef=on` signs return addresses.
FRAMES_KERNELS ?= trixie-arm64
frames-arm64: build-needs
	scripts/build-needs kernels
	tests/kernels/run --languages $(FRAMES_KERNELS)

# For CI: the oldest and the newest kernel of each architecture, on arm64 only with the tracers.
kernels-ci: build-needs
	tests/kernels/ci

# Tests `firstbyte watch` with Debian's Prometheus and node exporter, the alerting rules, and the recipes of docs/prometheus.md
# with GNU parallel and with Slurm (three nodes on this machine). Needs root to start servers. Takes two minutes.
prometheus: build-needs
	scripts/build-needs prometheus
	FIRSTBYTE_REQUIRE=all $(CARGO) test --locked --test integration -- --ignored --nocapture --test-threads 1 prometheus_real

# Runs a static ELF file a million times and a script that forks a hundred thousand times, on each backend, and checks that
# nothing grows. RUNS=10000 makes fewer runs, BACKEND=ptrace tests one backend. `make unit` makes a few of these runs.
RUNS ?= 1000000
BACKEND ?=
soak: build-needs
	FIRSTBYTE_SOAK_RUNS=$(RUNS) FIRSTBYTE_SOAK_BACKEND=$(BACKEND) $(PROOFS) --nocapture soak::nothing_grows

# Kills firstbyte at 500 random moments, and checks that the next run removes what is left. `make unit` does this a few times.
KILLS ?= 500
kill: build-needs
	FIRSTBYTE_KILLS=$(KILLS) $(PROOFS) --nocapture kill::

# Runs the integration tests beside 8 busy loops, with so little memory that the kernel keeps reclaiming pages.
# STRESS=tracees runs only the tests whose names contain that word.
STRESS ?=
stress: build-needs
	$(CARGO) test --locked --test integration --no-run
	scripts/beside-load $(CARGO) test --locked --test integration -- $(STRESS)

# Fuzzes each reader of files for FUZZ_SECONDS (60). FUZZ=elf fuzzes only that one.
FUZZ ?=
fuzz: build-needs
	fuzz/run $(FUZZ)

# Compares level0 with other implementations; crates/cc/runtime/tests/figures.sh describes them.
level0: $(FIRSTBYTE)
	FIRSTBYTE=$(CURDIR)/$(FIRSTBYTE) crates/cc/runtime/tests/figures.sh all level0

# Makes the files of a release in target/dist: a tarball, a Debian package, a wheel, npm packages, an image, their checksums.
# DIST='--architecture arm64' makes them for arm64, with a cross compiler.
DIST ?=
dist: build-needs
	scripts/build-needs dist
	case '$(DIST)' in *arm64*) [ "$$(dpkg --print-architecture)" = arm64 ] || scripts/build-needs dist-arm64 ;; esac
	packaging/dist $(DIST)

# Installs these packages in minimal Debian 12 and 13 systems, the image in a container, uses them and removes them. Needs root.
# TRY=arm64 does so with the Debian package for arm64, on emulated machines.
TRY ?= $(shell dpkg --print-architecture)
dist-try:
	scripts/build-needs dist
	[ "$$(dpkg --print-architecture)" = $(TRY) ] || scripts/build-needs kernels
	packaging/try target/dist/firstbyte_*_$(TRY).deb target/dist/systems
	[ "$$(dpkg --print-architecture)" != $(TRY) ] || for package in target/dist/firstbyte-*$$(uname -m).whl \
		target/dist/firstbyte-[0-9]*.tgz target/dist/firstbyte-*-$(TRY).oci.tar; do \
		packaging/try $$package target/dist/systems || exit; done

# Publishes the files of target/dist, of both architectures, and the crates. DRY=1 prints what it would do, and what is missing.
# IMAGE=HOST/OWNER/firstbyte is where the image goes.
DRY ?=
IMAGE ?=
publish:
	IMAGE=$(IMAGE) packaging/publish $(if $(DRY),--dry)

# Measures the cost of a run, of phases and of a trace against their goals, and fails where one is missed by more than its
# spread. Needs an idle machine. BEFORE=FILE compares with an older firstbyte, RECORD=FILE keeps the readings.
bench-check: $(FIRSTBYTE)
	scripts/bench-check $(FIRSTBYTE) $(if $(BEFORE),--before $(BEFORE)) $(if $(RECORD),--record $(RECORD))

# Measures every figure of results/, docs and README again, and writes them into the pages. Needs an idle machine, and more than
# two hours. ONLY='fill pictures' runs only these steps; scripts/figures/run lists all.
figures: $(FIRSTBYTE)
	scripts/figures/run

clean:
	$(CARGO) clean
