# The two commands of the README are `make demo` and `make test`; both install what they need.
CARGO ?= cargo
# Where cargo puts what it builds: it reads the same variable.
CARGO_TARGET_DIR ?= $(CURDIR)/target
# The laboratory is a workspace of its own and builds into the same folder: its binary looks for the product's beside it.
export CARGO_TARGET_DIR

.PHONY: help demo test test-quick test-full test-unprivileged test-kubernetes test-compose lint deny build lab sidecar dist images release reports doc

help:
	@echo "make demo    two sidecars on real traffic: the packets that prove it, and the cost"
	@echo "make test    each claim and each fixed fault once, with the real peers it needs; a quarter of an hour"
	@echo "make test-quick   tests without processes, namespaces or guests; a minute, and minutes to build"
	@echo "make test-full    all matrices, Debian's unmodified kernel and the experiments; half an hour"
	@echo "make test-unprivileged   those that need no root, as a user without rights; names the others and why"
	@echo "make test-kubernetes   chart and webhook with a real API server, which the first time takes minutes to build"
	@echo "make test-compose   the overlay for free5gc-compose, started by Docker Compose, which the first time is fetched for minutes"
	@echo "make build   the binary, $(CARGO_TARGET_DIR)/release/bartizan"
	@echo "make lab     the laboratory, $(CARGO_TARGET_DIR)/release/bartizan-lab"
	@echo "make reports HTML reports of the records in lab/experiments"
	@echo "make sidecar the binary with the sidecar alone"
	@echo "make dist    a binary without libraries, and packages of it, in dist/"
	@echo "make images  images of containers with that binary, by buildah, podman or docker"
	@echo "make release   all that a release publishes, for both processors, in dist/; RELEASE=--check builds twice"
	@echo "make lint    formatting, clippy with warnings denied, and the order of crates"
	@echo "make deny    licences, bans and sources of dependencies"

demo:
	@scripts/setup demo
	$(CARGO) build --release --locked -p bartizan --no-default-features
	cd lab && $(CARGO) build --release --locked -p bartizan-lab
	$(CARGO_TARGET_DIR)/release/bartizan-lab demo $(DEMO)

# TEST='--test check -- name' runs what `cargo test` would; AFFECTED_SINCE=COMMIT adds the programs of
# test-full whose crates changed since then.
test:
	@scripts/setup test
	@scripts/test test $(TEST) $(if $(AFFECTED_SINCE),--affected-since $(AFFECTED_SINCE))

test-quick:
	@scripts/test quick

test-full:
	@scripts/setup test
	@scripts/test full

test-unprivileged:
	@scripts/test-unprivileged $(TEST)

test-kubernetes:
	@scripts/setup kubernetes
	@scripts/kubernetes
	@scripts/tally $(CARGO) test --locked --workspace --features bartizan/test-kubernetes --test kubernetes $(TEST)

test-compose:
	@scripts/setup compose
	@scripts/compose
	@scripts/tally $(CARGO) test --locked --workspace --features bartizan/test-compose --test compose $(TEST)

build:
	$(CARGO) build --release --locked -p bartizan

lab: build
	cd lab && $(CARGO) build --release --locked -p bartizan-lab

# HTML reports of the records that are kept, beside their Markdown.
reports: lab
	@for records in lab/experiments/*/records; do \
		$(CARGO_TARGET_DIR)/release/bartizan-lab report "$$records"/*.gz --out lab/experiments >/dev/null || [ $$? -eq 1 ] || exit 2; \
	done

sidecar:
	$(CARGO) build --release --locked -p bartizan --no-default-features

dist:
	@scripts/setup dist
	@scripts/dist

images: dist
	@scripts/setup images
	@scripts/images $(IMAGES)

release:
	@scripts/setup release
	@scripts/release $(RELEASE)

lint:
	$(CARGO) fmt --all --check
	cd lab && $(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	cd lab && $(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked -p bartizan --no-default-features -- -D warnings
	@scripts/dependency-order

deny:
	@scripts/deny

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps
	cd lab && RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps
