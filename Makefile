# `make` lists what can be done. Everything it needs is installed on the way (scripts/setup.sh);
# nothing is written outside this folder but Debian packages.
#   TORCH=0     leave PyTorch out: tests against it are skipped and counted
#   LANGUAGES=all  install Go and gfortran too, for their tests; without them these are skipped
#               and counted
#   CUDA=1      build the CUDA plugin on a machine without a GPU too; where no toolkit is, its
#               compiler is installed into .venv
#   DATA=dir    a folder with the four IDX files (plain or .gz) for the demo
#   DEVICE=cuda where the demo trains (default: cpu)
#   PYTHON=...  the Python (3.11 or newer) that .venv is made with
#   PREFIX=dir  where `make install` puts the library (default /usr/local)
#   ARGS=...    passed on to the demo, the tests (pytest), the benchmarks, the random programs or
#               the mutation check
TORCH ?= 1
PREFIX ?= /usr/local
ARGS ?=
PY := $(CURDIR)/.venv/bin/python
TEST_LEVEL := $(if $(filter 0,$(TORCH)),test,torch)
# CI is set by build servers: there, a warning is an error.
CMAKE_FLAGS := -G Ninja -DDT_BUILD_PYTHON=ON -DPython_EXECUTABLE=$(PY) \
  -DDT_WERROR=$(if $(CI),ON,OFF) $(if $(filter 1,$(CUDA)),-DDT_CUDA=ON)

# The caches of ccache, pip, fontconfig, Matplotlib and CUDA's driver stay in this folder, where
# `make clean` leaves them, unless the environment names other places.
XDG_CACHE_HOME ?= $(CURDIR)/.cache
MPLCONFIGDIR ?= $(XDG_CACHE_HOME)/matplotlib
CUDA_CACHE_PATH ?= $(XDG_CACHE_HOME)/cuda

export TORCH DATA DEVICE PYTHON CUDA LANGUAGES XDG_CACHE_HOME MPLCONFIGDIR CUDA_CACHE_PATH

.PHONY: help setup setup-demo setup-tests configure build demo test bench lint format sanitize tsan
.PHONY: clang gpu programs mutate generate coverage wheel install clean distclean

# What is missing is installed, and asked for, all at once and before anything is built.
.NOTPARALLEL:

help:
	@echo "make demo      build, and train a CNN on Fashion-MNIST (once built, a minute)"
	@echo "make test      build, and run the whole test suite (TORCH=0 leaves PyTorch out)"
	@echo "make build     build/libdumbtorch.so, and .venv/bin/python with 'import dumbtorch'"
	@echo "make setup-tests  pytest, PyTorch and what else tests need, into .venv"
	@echo "make bench     dumbtorch against PyTorch, interleaved"
	@echo "make lint      the rules of the house; make format applies what can be applied"
	@echo "make clang     core, the C API and the kernels compile with clang, as plain C++17"
	@echo "make sanitize  the C and C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make tsan      the same under ThreadSanitizer"
	@echo "make gpu       on a machine with a GPU: build and tests, and more (scripts/gpu.sh)"
	@echo "make programs  random programs in dumbtorch and PyTorch, as long as one likes (ARGS=--help)"
	@echo "make mutate    corrupt formulas one at a time: the tests must notice"
	@echo "make generate  rewrite the generated files from capi/schema"
	@echo "make coverage  rewrite docs/coverage.md: which of PyTorch's names the built package has"
	@echo "make wheel     the Python package as one file, in dist/ (pip install . works too)"
	@echo "make install   the library, headers, pkg-config and CMake files, under PREFIX"
	@echo "make clean     remove the build folders; make distclean also .venv and the caches (.cache)"

setup:
	@scripts/setup.sh build

setup-demo:
	@scripts/setup.sh demo

setup-tests:
	@scripts/setup.sh $(TEST_LEVEL)

configure: setup
	@cmake -S . -B build $(CMAKE_FLAGS) >/dev/null

build: configure
	@cmake --build build

demo: setup-demo build
	@$(PY) examples/python/fashion.py $(ARGS)

test: setup-tests build
	@cmake --build build --target dt_tests
	@ctest --test-dir build --output-on-failure --no-tests=error
	@$(PY) -m pytest -n 2 --dist loadfile $(ARGS)

bench: setup-tests build
	@$(PY) benchmarks/bench.py $(ARGS)

lint: setup-tests build
	@$(PY) scripts/lint.py
	@$(PY) capi/generate --check
	@$(PY) scripts/coverage.py --check
	@$(PY) -m ruff check --quiet
	@$(PY) -m ruff format --quiet --check

format: setup-tests
	@$(PY) scripts/lint.py --format
	@$(PY) -m ruff check --quiet --fix
	@$(PY) -m ruff format --quiet

clang: setup-tests
	@cmake --preset clang >/dev/null
	@cmake --build --preset clang

sanitize: setup-tests
	@cmake --preset asan >/dev/null
	@cmake --build --preset asan
	@UBSAN_OPTIONS=print_stacktrace=1 ctest --preset asan

tsan: setup-tests
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan
	@ctest --preset tsan

gpu:
	@scripts/gpu.sh $(ARGS)

programs: setup-tests build
	@cd tests/python && $(PY) -m programs $(ARGS)

mutate: setup-tests build
	@$(PY) tests/mutate.py $(ARGS)

generate: setup
	@$(PY) capi/generate

coverage: build
	@$(PY) scripts/coverage.py

wheel: setup
	@$(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps -w dist .

install: build
	@cmake --install build --prefix $(PREFIX)

clean:
	rm -rf build build-*

distclean: clean
	rm -rf .venv .cache
