# Everything a fresh Debian 12 needs is set up by the targets themselves, each
# step once: `make demo` and `make test` are the two commands of the README.

SHELL := /bin/bash
TORCH_VERSION ?= 2.13.0
VENV := .venv
STAMPS := $(VENV)/.stamps
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
JOBS ?= 2
PACKAGES := build-essential ca-certificates ccache clang-format cmake dataset-fashion-mnist git \
            libbenchmark-dev libcli11-dev libgmock-dev libgtest-dev libpng-dev libturbojpeg0-dev \
            ninja-build nlohmann-json3-dev pkg-config python3 python3-venv zlib1g-dev
CMAKE := /usr/bin/cmake
# Spinning worker threads slow a step tenfold when anything else runs.
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: help setup build demo test test-plan-sanitized test-sanitized fuzz bench format install clean

help:
	@echo 'make demo            train DenseNet-121 on Fashion-MNIST, plain and in half the memory'
	@echo 'make test            all tests'
	@echo 'make build           the program, build/reforward'
	@echo 'make bench           planning times (Google Benchmark)'
	@echo 'make test-sanitized  all tests under AddressSanitizer and UBSan'
	@echo 'make fuzz            libFuzzer on the readers of graphs, traces and plans'
	@echo 'make format          clang-format on our own code'
	@echo 'make install PREFIX=DIR'

setup: $(STAMPS)/system $(STAMPS)/torch-$(TORCH_VERSION)

# The packages are asked for by name only if one of them is missing.
$(STAMPS)/system: Makefile
	@if ! dpkg-query -W -f='$${Status}\n' $(PACKAGES) 2>/dev/null | grep -qc 'ok installed' || \
	    [ "$$(dpkg-query -W -f='$${Status}\n' $(PACKAGES) 2>/dev/null | grep -c 'ok installed')" != "$(words $(PACKAGES))" ]; then \
	  $(SUDO) apt-get update -q && \
	  $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(PACKAGES); \
	fi
	@test -x $(VENV)/bin/python || /usr/bin/python3 -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/torch-$(TORCH_VERSION): $(STAMPS)/system
	$(VENV)/bin/pip install -q --disable-pip-version-check torch==$(TORCH_VERSION)
	@touch $@

# configure FOLDER, with what else is to be said
configure = test -f $(1)/build.ninja || $(CMAKE) -S . -B $(1) -G Ninja $(2) > $(1).log 2>&1 || { cat $(1).log; exit 1; }; rm -f $(1).log

build: setup
	@$(call configure,build,)
	@$(CMAKE) --build build -j $(JOBS)

demo: build
	@examples/demo.sh

test: build test-plan-sanitized
	ctest --test-dir build --output-on-failure -j $(JOBS)

# plan/ holds no PyTorch, so its tests run under sanitizers in seconds (but for long
# searches on the authors' graphs, which walk the same code as the small ones).
test-plan-sanitized: setup
	@$(call configure,build-sanitized-plan,-DREFORWARD_TORCH_PARTS=OFF -DREFORWARD_BENCH=OFF -DREFORWARD_SANITIZE=address$(comma)undefined)
	@$(CMAKE) --build build-sanitized-plan -j $(JOBS)
	ctest --test-dir build-sanitized-plan --output-on-failure -j $(JOBS) -E AuthorsGraph

# libtorch itself is not instrumented: leaks are looked for in our tests instead.
test-sanitized: setup test-plan-sanitized
	@$(call configure,build-sanitized,-DREFORWARD_BENCH=OFF -DREFORWARD_SANITIZE=address$(comma)undefined)
	@$(CMAKE) --build build-sanitized -j $(JOBS)
	ASAN_OPTIONS=detect_leaks=0:alloc_dealloc_mismatch=0 ctest --test-dir build-sanitized --output-on-failure -j $(JOBS)

# libFuzzer on what is read from files, SECONDS each; what is new goes into the corpus.
SECONDS_EACH ?= 600
FUZZERS := graph trace plan
fuzz: setup
	@command -v clang++ > /dev/null && ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-* > /dev/null 2>&1 || \
	  $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends clang libclang-rt-14-dev
	@$(call configure,build-fuzz,-DCMAKE_CXX_COMPILER=clang++ -DREFORWARD_TORCH_PARTS=OFF -DREFORWARD_TESTS=OFF -DREFORWARD_BENCH=OFF -DREFORWARD_FUZZ=ON -DREFORWARD_SANITIZE=fuzzer-no-link$(comma)address$(comma)undefined)
	@$(CMAKE) --build build-fuzz -j $(JOBS)
	@for target in $(FUZZERS); do \
	  mkdir -p build-fuzz/new/$$target && \
	  build-fuzz/fuzz_$$target -max_total_time=$(SECONDS_EACH) -timeout=10 -max_len=8000 -print_final_stats=1 \
	    -dict=tests/fuzz/json.dict -artifact_prefix=build-fuzz/$$target- build-fuzz/new/$$target tests/fuzz/corpus/$$target && \
	  build-fuzz/fuzz_$$target -merge=1 -use_counters=0 -max_len=8000 tests/fuzz/corpus/$$target build-fuzz/new/$$target || exit 1; \
	done

bench: build
	build/bench_plan

format: setup
	git ls-files '*.cpp' '*.h' | xargs clang-format -i

install: build
	$(CMAKE) --install build $(if $(PREFIX),--prefix $(PREFIX))

clean:
	rm -rf build build-sanitized build-sanitized-plan build-fuzz

comma := ,
