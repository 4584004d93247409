#!/bin/sh
# Usage: gpu.sh [STEP...]
# Everything that is to be seen on a machine with a GPU, in calls of at most ten minutes:
#   build      the library, the plugin for all targets, the Python module, the C and C++ tests
#   ctest      the C and C++ tests, with DT_TEST_DEVICE=cuda
#   pytest     the op rows, random numbers, tests/python/test_cuda*.py and the example programs
#              with DT_TEST_DEVICE=cuda (DATA=dir: a folder with the four IDX files)
#   programs   random programs in dumbtorch on the GPU and in PyTorch, for SECONDS_OF_PROGRAMS
#              (500) from SEED on
#   bench      benchmarks/gpu.py against PyTorch; writes a page for benchmarks/results
#   sweep      benchmarks/sweep.py on the GPU: all classes over sizes, and the cliffs (SEED)
#   memcheck, racecheck   compute-sanitizer over the plugin's tests and some op rows (SANITIZE_ROWS)
# Without arguments: build ctest pytest. A step that fails does not stop the next; the last
# lines sum up. Nothing is installed: it takes the machine's cmake, ninja, nvcc and python3 (with
# cffi, pytest and PyTorch; what is missing may lie as wheels in .whl).
#   OUT=dir        where each step's output goes (default build-gpu/out)
#   CMAKE_ARGS     for the step build, for instance the one target of the machine:
#                  -DDT_CUDA_TARGETS=-gencode=arch=compute_90a,code=sm_90a
#   PYTEST_ARGS    for the step pytest, for instance "-k softmax"
set -u
cd "$(dirname "$0")/.." || exit 1
build=build-gpu
out=${OUT:-$PWD/$build/out}
site=$PWD/$build/site
rows=${SANITIZE_ROWS:-softmax or layer_norm or batch_norm or cross_entropy or cumsum or sort or \
index or gather or scatter or pool or matmul or conv or sum or adam}
summary=$out/summary.txt
failed=0
deadline=$(($(date +%s) + 590))
mkdir -p "$out"

# step NAME SECONDS FUNCTION: runs a function of this script as a process of its own.
step() {
  begin=$(date +%s)
  left=$((deadline - begin))
  if [ "$left" -gt "$2" ]; then left=$2; fi
  if [ "$left" -lt 1 ]; then left=1; fi
  timeout "$left" sh -eu "$0" "--inside" "$3" >"$out/$1.log" 2>&1
  code=$?
  took=$(($(date +%s) - begin))
  case $code in
    0) verdict=ok ;;
    124) verdict="FAILED: longer than $left s" ;;
    *) verdict="FAILED: exit status $code" ;;
  esac
  echo "$1: $verdict ($took s): $(tail -n 1 "$out/$1.log")" | tee -a "$summary"
  if [ $code -ne 0 ]; then
    failed=1
    tail -n 40 "$out/$1.log"
  fi
}

do_build() {
  if ls .whl/*.whl >/dev/null 2>&1; then
    python3 -m pip install -q --no-index --no-deps --upgrade --target "$site" .whl/*.whl
  fi
  cmake -S . -B "$build" -G Ninja -DDT_CUDA=ON -DDT_BUILD_PYTHON=ON \
    -DPython_EXECUTABLE="$(command -v python3)" ${CMAKE_ARGS:-}
  cmake --build "$build" --target all dt_tests
  ls -l "$build/libdumbtorch_cuda.so"
}

do_ctest() {
  DT_TEST_DEVICE=cuda ctest --test-dir "$build" -j 4 --output-on-failure --no-tests=error
}

# Several processes at once, where pytest can.
do_pytest() {
  parallel=
  if python3 -c 'import xdist' 2>/dev/null; then parallel="-n 14"; fi
  # The workers must collect in one order.
  export PYTHONHASHSEED=0 DT_TEST_DEVICE=cuda DT_BUILD_DIR="$PWD/$build"
  # shellcheck disable=SC2086
  python3 -m pytest -q $parallel ${PYTEST_ARGS:-} \
    tests/python/ops/test_ops.py tests/python/ops/test_variants.py tests/python/ops/test_random.py \
    tests/python/ops/test_narrow_integers.py tests/python/ops/test_distributions.py \
    tests/python/test_cuda.py tests/python/test_cuda_capture.py tests/python/test_cuda_edges.py \
    tests/python/test_cuda_attention.py tests/python/test_cuda_nn.py \
    tests/python/test_cuda_shapes.py tests/python/test_cuda_index_sums.py \
    tests/python/test_parts.py tests/python/test_cuda_rows.py tests/python/test_images.py \
    tests/python/test_cuda_images.py \
    tests/python/test_streams.py tests/python/test_small_spectra.py \
    tests/python/test_cuda_gradients.py tests/python/test_cuda_programs.py \
    tests/python/test_counts.py tests/python/test_sorted_rows.py \
    tests/python/test_narrow_kernels.py \
    tests/python/test_generation.py tests/python/test_models.py \
    tests/python/test_optim.py tests/examples
  # Alone, since they want all memory, or all devices; 5: both were skipped.
  python3 -m pytest -q tests/python/test_cuda_two.py tests/python/test_cuda_huge.py || [ $? -eq 5 ]
}

# In PyTorch they run on the CPU. Synchronised after each statement, so that errors have their line.
do_programs() {
  export DT_TEST_DEVICE=cuda DT_BUILD_DIR="$PWD/$build"
  cd tests/python
  python3 -m programs --seconds "${SECONDS_OF_PROGRAMS:-500}" --seed "${SEED:-0}" \
    --jobs 12 --keep-going
}

do_bench() {
  gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1 | tr 'A-Z ' 'a-z-')
  python3 benchmarks/gpu.py --save "$out/$(date +%F)-${gpu#nvidia-}.md"
}

do_sweep() {
  python3 benchmarks/sweep.py --device cuda --seed "${SEED:-0}" --save "$out"
}

# Errors that a test provokes and gets back from a call of CUDA are not counted. Backtraces of the
# host would keep Python's frames, and with them every tensor: the tests would see leaks.
sanitize() {
  check="compute-sanitizer --tool $1 --report-api-errors no --error-exitcode 9 \
    --show-backtrace device"
  $check "$build/tests/cuda_runtime_test"
  $check "$build/tests/cuda_capture_test"
  DT_TEST_DEVICE=cuda $check python3 -m pytest -q -x -k "$rows" tests/python/ops
}

do_memcheck() {
  sanitize memcheck
}

do_racecheck() {
  sanitize racecheck
}

export PYTHONPATH="$PWD/wrappers/python:$site${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
if [ "${1:-}" = --inside ]; then
  "$2"
  exit
fi
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | tee "$summary"
for name in ${*:-build ctest pytest}; do
  case $name in
    build) step build 270 do_build ;;
    ctest) step ctest 120 do_ctest ;;
    pytest) step pytest 300 do_pytest ;;
    programs) step programs 580 do_programs ;;
    bench) step bench 400 do_bench ;;
    sweep) step sweep 300 do_sweep ;;
    memcheck) step memcheck 300 do_memcheck ;;
    racecheck) step racecheck 300 do_racecheck ;;
    *) echo "gpu: there is no step '$name'" >&2 && exit 2 ;;
  esac
done
echo
cat "$summary"
exit $failed
