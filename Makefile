# tickstack: `make demo` shows it, `make test` checks it. `make help` lists the rest.

JOBS ?= $(shell nproc)
# Seconds per fuzzer for `make fuzz`; arguments of `make demo`, such as DEMO_ARGS="--seconds 5".
FUZZ_SECONDS ?= 60
SIMULATE_SECONDS ?= 60
MUTANT_LIVES ?= 10000
DEMO_ARGS ?=
# Arguments of `make bench-peers`, such as PEERS_ARGS="--peers duckdb,polars --no-docs".
PEERS_ARGS ?=
# `make lint` checks what differs from this commit; `make lint ALL=1` checks everything.
LINT_BASE ?= origin/main
ALL ?=
# `make lint` starts no more sources after this many seconds; 0: no limit.
LINT_SECONDS ?= 0

AARCH64_TESTS := crc32c_test name_scan_test number_kernels_test codec_test kdb_bytes_test
empty :=
space := $(empty) $(empty)

PROGRAM := build/release/cli/tickstack
SANITIZED_PROGRAM := build/asan/cli/tickstack

.DEFAULT_GOAL := build
# Tests beside services and clients of others.
OTHER_PROGRAMS_TESTS := test-clients test-kafka test-standby test-spark test-s3 test-prometheus test-browser test-package

.PHONY: help deps deps-test deps-clang deps-lint deps-package deps-dax deps-browser deps-prometheus deps-aarch64 build demo test test-asan package test-package test-prometheus test-dax test-tsan test-aarch64 simulate simulate-clusters simulate-gateways mutants test-qpython test-clients test-s3 test-spark test-kafka test-standby test-browser pictures queries-page bench bench-peers format lint fuzz clean

help:
	@echo "make deps          install the Debian packages that the program is built with; other targets install theirs"
	@echo "make build         the program: $(PROGRAM) (DEBUG=1: with the lines of functions for a debugger)"
	@echo "make demo          a load test of 30 s at 48,000 updates/s: DRAM beside a second tier"
	@echo "make test          unit tests and end-to-end tests of the release"
	@echo "make test-asan     unit tests and hostile bytes under AddressSanitizer and UBSan (installs clang)"
	@echo "make package       a package for Debian, build/release/tickstack_VERSION_ARCHITECTURE.deb"
	@echo "make test-package  installs, upgrades and purges that package in a Debian 12 (as root; installs debootstrap, lintian)"
	@echo "make test-prometheus  a real Prometheus scrapes a running stack and its alerts fire and clear; promtool's checks (installs it)"
	@echo "make test-dax      tiers on DAX mounts and a far NUMA node, in virtual machines (installs QEMU)"
	@echo "make test-tsan     the tests in which threads share state, under ThreadSanitizer"
	@echo "make test-aarch64  the libraries cross-compiled for aarch64; tests of kernels and formats by QEMU"
	@echo "make simulate      simulated lives with crashes and power cuts: fixed seeds, and fresh ones for SIMULATE_SECONDS=$(SIMULATE_SECONDS)"
	@echo "make simulate-clusters  the same with standby tickerplants, fresh seeds"
	@echo "make simulate-gateways  the same with a gateway, fresh seeds"
	@echo "make mutants       planted defects that simulated lives must notice: up to MUTANT_LIVES=$(MUTANT_LIVES) lives each"
	@echo "make test-qpython  a qPython client against a running stack, in a throw-away environment"
	@echo "make test-clients  PyKX, node-q and JDBC against a running stack, in throw-away environments"
	@echo "make test-s3       an archive in a real S3 service, versitygw, which Go builds into a throw-away folder"
	@echo "make test-spark    Spark reads an export, answers the queries of hdb queries, and has the export as Iceberg tables, in a throw-away environment"
	@echo "make test-kafka    rows through Kafka brokers to a second site, and a log in Kafka, with kills, in a throw-away environment (120 MB)"
	@echo "make test-standby  standby tickerplants with a real etcd, with kills, in a throw-away environment (8 MB)"
	@echo "make test-browser  reports, an RDB's pages, live page and query console in a headless Chromium (installs it, 290 MB)"
	@echo "make pictures      the pictures in docs/pictures/, by the same browser; RUN=DIR: also the report of that run"
	@echo "make queries-page  docs/queries.md from docs/queries.toml and the answers (installs DuckDB, throw-away)"
	@echo "make bench         every benchmark"
	@echo "make bench-peers   queries beside DuckDB, Polars, pandas, chDB and QuestDB (downloads them)"
	@echo "make format        clang-format over all sources"
	@echo "make lint          format check and clang-tidy over what changed (ALL=1: everything)"
	@echo "make fuzz          every fuzzer for FUZZ_SECONDS=$(FUZZ_SECONDS)"
	@echo "make clean         remove build/"

deps:
	@packaging/install_deps.sh

deps-test: | deps
	@packaging/install_deps.sh debian-packages-test.txt

deps-clang: | deps-test
	@packaging/install_deps.sh debian-packages-clang.txt

deps-lint: | deps-clang
	@packaging/install_deps.sh debian-packages-lint.txt

deps-package:
	@packaging/install_deps.sh debian-packages-package.txt

deps-dax:
	@packaging/install_deps.sh debian-packages-dax.txt

deps-browser:
	@command -v "$${TICKSTACK_CHROMIUM:-chromium-headless-shell}" chromium chromium-browser google-chrome >/dev/null || \
	  packaging/install_deps.sh debian-packages-browser.txt

deps-prometheus:
	@command -v prometheus >/dev/null && command -v promtool >/dev/null || \
	  packaging/install_deps.sh debian-packages-prometheus.txt

deps-aarch64:
	@packaging/install_deps.sh debian-packages-aarch64.txt

# A preset is configured once, for builds from nothing (tickstack_add.cmake has the option). Later, ninja itself detects changes of CMake files.
build/asan/build.ninja: | deps-clang
build/%/build.ninja: | deps
	cmake --preset $* -DTICKSTACK_UNITY=ON --log-level=WARNING

# clang-tidy wants the command of each source.
build/lint/build.ninja: | deps-lint
	cmake --preset lint --log-level=WARNING

build: build/release/build.ninja
	$(if $(DEBUG),cmake -B build/release -DTICKSTACK_DEBUG_INFO=ON --log-level=WARNING)
	cmake --build build/release --parallel $(JOBS) --target tickstack

demo: build
	$(PROGRAM) demo $(DEMO_ARGS)

# A test that is killed leaves files, so temporary files are in a folder that is removed afterwards.
define run_tests
	temporary=$$(mktemp -d) && trap 'rm -rf "$$temporary"' EXIT && \
	TMPDIR=$$temporary TEST_TMPDIR=$$temporary/ ctest --output-on-failure --no-tests=error
endef

# Most end-to-end tests wait for most of their time, so twice as many run as there are processors.
test: build/release/build.ninja | deps-test
	cmake --build build/release --parallel $(JOBS) --target tickstack unit_tests
	tests/build_cost.py build/release
	$(run_tests) --test-dir build/release -L unit --parallel $(JOBS)
	$(run_tests) --test-dir build/release -L e2e --parallel $$((2 * $(JOBS)))
	@echo "Not run: make test-asan, test-tsan; and, because they install other programs: make $(OTHER_PROGRAMS_TESTS)"

test-asan: export TICKSTACK_BIN = $(CURDIR)/$(PROGRAM)
test-asan: export TICKSTACK_SANITIZED_BIN = $(CURDIR)/$(SANITIZED_PROGRAM)
test-asan: build build/asan/build.ninja
	cmake --build build/asan --parallel $(JOBS) --target unit_tests tickstack
	$(run_tests) --test-dir build/asan -L unit --parallel $(JOBS)
	$(run_tests) --test-dir build/asan -R e2e_hostile_bytes

# The time of the commit is that of all files in the package, so that the same sources give the same package.
package: export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct 2>/dev/null || date +%s)
package: build deps-package
	cmake --build build/release --parallel $(JOBS) --target package_files
	cd build/release && rm -f tickstack_*.deb && cpack

test-package: package
	packaging/install_deps.sh debian-packages-package-test.txt
	tests/e2e/package_test.py --build build/release

test-prometheus: build deps-prometheus
	TICKSTACK_REQUIRE_PROMETHEUS=1 tests/e2e/prometheus_test.py --program $(PROGRAM)

test-dax: build deps-dax
	cmake --build build/release --parallel $(JOBS) --target dax_test
	tests/dax/run.py build/release/tests/dax_test $(PROGRAM)

# GCC 12's runtime needs a fixed address layout on kernels that randomise more than 28 bits of it.
test-tsan: build/tsan/build.ninja
	cmake --build build/tsan --parallel $(JOBS) --target concurrent_tests
	setarch --addr-no-randomize ctest --test-dir build/tsan -L concurrent --parallel $(JOBS) --output-on-failure --no-tests=error

test-aarch64: deps-aarch64 | deps-clang
	packaging/aarch64_sysroot.sh build/aarch64-sysroot
	[ -e build/aarch64/build.ninja ] || cmake --preset aarch64 -DTICKSTACK_UNITY=ON -DTICKSTACK_TESTS_APART=ON --log-level=WARNING
	cmake --build build/aarch64 --parallel $(JOBS) --target libraries $(AARCH64_TESTS)
	ctest --test-dir build/aarch64 -R '^($(subst $(space),|,$(AARCH64_TESTS)))$$' --parallel $(JOBS) --output-on-failure --no-tests=error

simulate: build
	cmake --build build/release --parallel $(JOBS) --target simulate
	ctest --test-dir build/release -L simulate --output-on-failure --no-tests=error
	build/release/tests/simulate/simulate --seconds $(SIMULATE_SECONDS) --jobs $(JOBS)

# Run it after a change of standbys or chained tickerplants.
simulate-clusters: build
	cmake --build build/release --parallel $(JOBS) --target simulate
	build/release/tests/simulate/simulate --standbys --seconds $(SIMULATE_SECONDS) --jobs $(JOBS)

# Run it after a change of the gateway, or of how a day moves from an rdb to the hdb.
simulate-gateways: build
	cmake --build build/release --parallel $(JOBS) --target simulate
	build/release/tests/simulate/simulate --gateway --seconds $(SIMULATE_SECONDS) --jobs $(JOBS)

mutants: | deps
	tests/simulate/mutants.py --lives $(MUTANT_LIVES) --jobs $(JOBS)

$(OTHER_PROGRAMS_TESTS) test-qpython: | deps-test

test-qpython: build
	TICKSTACK_BIN=$(CURDIR)/$(PROGRAM) tests/e2e/run_qpython_test.sh

test-clients: build
	TICKSTACK_BIN=$(CURDIR)/$(PROGRAM) tests/e2e/run_clients_test.sh

test-spark: build
	TICKSTACK_BIN=$(CURDIR)/$(PROGRAM) tests/e2e/run_spark_test.sh

test-kafka: build
	TICKSTACK_BIN=$(CURDIR)/$(PROGRAM) tests/e2e/run_kafka_test.sh

test-standby: build
	TICKSTACK_BIN=$(CURDIR)/$(PROGRAM) tests/e2e/run_standby_test.sh

test-s3: build
	TICKSTACK_BIN=$(CURDIR)/$(PROGRAM) tests/e2e/run_s3_test.sh

test-browser: build deps-browser
	tests/browser/report_test.py --program $(PROGRAM)
	tests/browser/queries_page_test.py --program $(PROGRAM)
	tests/browser/http_test.py --program $(PROGRAM)
	tests/browser/live_test.py --program $(PROGRAM)
	tests/browser/console_test.py --program $(PROGRAM)

pictures: build deps-browser
	tests/browser/pictures.py --program $(PROGRAM) $(if $(RUN),--run $(RUN))

queries-page: build
	TICKSTACK_REQUIRE_FIXTURES=1 TICKSTACK_REQUIRE_DUCKDB=1 \
	  tests/e2e/run_duckdb_test.sh --program $(PROGRAM) --write-page

bench: build/release/build.ninja
	cmake --build build/release --parallel $(JOBS) --target tickstack benchmarks
	bench/run_all.sh build/release

bench-peers: build
	bench/peers/run $(PEERS_ARGS)

format: | deps-lint
	git ls-files -z '*.h' '*.cc' | xargs -0 clang-format-19 -i

lint: build/lint/build.ninja
	tests/lint.sh $(if $(ALL),all,changed) $(LINT_BASE) $(LINT_SECONDS)

fuzz: build/asan/build.ninja
	cmake --build build/asan --parallel $(JOBS) --target fuzzers
	fuzz/run_all.sh build/asan $(FUZZ_SECONDS)

clean:
	rm -rf build
