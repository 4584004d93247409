#!/bin/sh
# Usage: setup.sh build|demo|test|torch
# Installs what that level of work needs: Debian packages (as root; otherwise it prints the line to
# run and stops) and a .venv with the pinned packages of requirements/LEVEL.txt. Each need is a
# question about the machine, not about a package, so a machine that has its tools from elsewhere is
# left alone; nothing is done twice.
#   PYTHON=...   the interpreter for .venv (default: the first python3 that is new enough)
#   LANGUAGES=all  also compilers of languages whose tests are skipped without one: Go,
#                  Fortran
#   CUDA=1       where there is no nvcc, also puts it into .venv (about 270 MB), for the plugin
set -eu
level=$1
root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/.venv

fail() {
  printf 'setup: %s\n' "$1" >&2
  exit 1
}

is_new_enough() {
  command -v "$1" >/dev/null && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))'
}

find_python() {
  if [ -n "${PYTHON:-}" ]; then
    is_new_enough "$PYTHON" || fail "PYTHON=$PYTHON is not Python 3.11 or newer"
    python=$PYTHON
    return
  fi
  for python in python3 python3.14 python3.13 python3.12 python3.11; do
    if is_new_enough "$python"; then return; fi
  done
  fail "Python 3.11 or newer is needed (Debian 12: apt-get install python3); if it is elsewhere, say
  make PYTHON=/path/to/python3"
}

# need PACKAGE COMMAND...: remembers the Debian package if the command fails.
missing=
need() {
  package=$1
  shift
  if ! "$@" >/dev/null 2>&1; then missing="$missing $package"; fi
}

has_python_headers() {
  "$python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'
}

has_data() {
  [ -n "${DATA:-}" ] || [ -e /usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz ]
}

list_needs() {
  need g++ command -v c++
  need cmake command -v cmake
  need ninja-build command -v ninja
  need pkg-config command -v pkg-config
  need python3-venv "$python" -c 'import ensurepip, venv'
  need python3-dev has_python_headers
  need lua5.4 command -v lua5.4
  need liblua5.4-dev pkg-config --exists lua5.4
  if [ "$level" != build ]; then need dataset-fashion-mnist has_data; fi
  case $level in
    test | torch)
      need ccache command -v ccache
      need clang command -v clang
      need clang-format command -v clang-format-14
      need luajit command -v luajit
      need libluajit-5.1-dev pkg-config --exists luajit
      if [ "${LANGUAGES:-}" = all ]; then
        need golang-go command -v go
        need gfortran command -v gfortran
      fi
      ;;
  esac
}

install_missing() {
  if [ -z "$missing" ]; then return; fi
  install="apt-get install -y --no-install-recommends$missing"
  if ! command -v apt-get >/dev/null; then
    fail "please install what these Debian packages hold:$missing"
  elif [ "$(id -u)" -ne 0 ]; then
    fail "some Debian packages are missing; please run this line, then the same command again:
  sudo apt-get update && sudo $install"
  fi
  echo "setup: $install"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq update
  $install >"$root/.setup.log" 2>&1 || { tail -n 20 "$root/.setup.log" >&2; fail "apt-get failed"; }
  rm -f "$root/.setup.log"
}

make_venv() {
  # A .venv whose interpreter has gone (an upgraded system) is made anew.
  if ! "$venv/bin/python" -c '' 2>/dev/null; then
    echo "setup: making .venv with $("$python" --version)"
    rm -rf "$venv"
    "$python" -m venv "$venv"
  fi
}

# Levels include one another, so the stamp of a level also vouches for the levels below it.
install_requirements() {
  stamp=$venv/setup-$level.stamp
  wanted=$(cat "$root"/requirements/*.txt)
  if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then return; fi
  echo "setup: installing requirements/$level.txt into .venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    -r "$root/requirements/$level.txt" ||
    fail "pip could not install requirements/$level.txt (without PyTorch: make test TORCH=0)"
  case $level in
    build) covers="build" ;;
    demo) covers="build demo" ;;
    test) covers="build demo test" ;;
    torch) covers="build demo test torch" ;;
  esac
  for covered in $covers; do printf '%s\n' "$wanted" >"$venv/setup-$covered.stamp"; done
}

install_cuda() {
  if [ "${CUDA:-0}" != 1 ]; then return; fi
  if command -v nvcc >/dev/null || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]; then return; fi
  stamp=$venv/setup-cuda.stamp
  if cmp -s "$root/requirements/cuda.txt" "$stamp"; then return; fi
  echo "setup: installing requirements/cuda.txt into .venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    -r "$root/requirements/cuda.txt" || fail "pip could not install requirements/cuda.txt"
  cp "$root/requirements/cuda.txt" "$stamp"
}

# `import dumbtorch` in .venv finds the package where it is written, together with the module that
# the build puts there.
link_package() {
  site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  echo "$root/wrappers/python" >"$site/dumbtorch.pth"
}

case $level in
  build | demo | test | torch) ;;
  *) fail "unknown level '$level'" ;;
esac
find_python
list_needs
install_missing
make_venv
install_requirements
install_cuda
link_package
