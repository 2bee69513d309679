# Two commands do all the set-up on a fresh machine (Debian 12 with cargo):
#   make showdown   builds, fetches what the corpus lacks, runs the showdown
#   make test       fetches what the tests need and runs them all

CARGO ?= cargo
HOST := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
FIRSTBYTE := target/$(HOST)/release/firstbyte
SHOWDOWN ?=

.PHONY: all showdown test lint unit proofs kernels level0 bench build-needs clean

all: $(FIRSTBYTE)

# The one tool that the build needs before firstbyte itself can say what else is missing.
build-needs:
	@scripts/build-needs

.PHONY: $(FIRSTBYTE)
$(FIRSTBYTE): build-needs
	$(CARGO) build --release --locked $(shell scripts/features)

showdown: $(FIRSTBYTE)
	$(FIRSTBYTE) doctor --install
	$(FIRSTBYTE) showdown $(SHOWDOWN)

test: build-needs
	$(CARGO) test --workspace --locked --no-run $(shell scripts/features)
	target/$(HOST)/debug/firstbyte doctor --install --tests
	$(MAKE) lint unit

lint:
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

unit:
	$(CARGO) test --workspace --locked

# The slow proofs: our executables as /init of real kernels (emulated, so any machine will do); then, optimised, the
# exhaustive searches, all lengths, and very many nearly right files. CI runs them after `make test`.
PROOFS = $(CARGO) test --release --locked --test integration --
proofs: build-needs
	scripts/build-needs proofs
	tests/qemu/run
	$(PROOFS) --ignored --nocapture --skip elf_kernels
	FIRSTBYTE_FUZZ_CASES=100000 $(PROOFS) --nocapture fuzz::nearly_right_documents
	FIRSTBYTE_FUZZ_CASES=1000000 $(PROOFS) --nocapture fuzz::nearly_right_budgets

# Debian's kernels from 5.10 to sid's, x86-64 and arm64, with firstbyte on them: an hour. KERNELS=--quick boots the oldest
# and the newest of each architecture.
KERNELS ?= --markdown docs/kernels.md
kernels: build-needs
	scripts/build-needs kernels
	tests/kernels/run $(KERNELS)

# level0 against other ways to do the same; crates/cc/runtime/tests/figures.sh says what is compared.
level0: $(FIRSTBYTE)
	FIRSTBYTE=$(CURDIR)/$(FIRSTBYTE) crates/cc/runtime/tests/figures.sh all level0

clean:
	$(CARGO) clean
