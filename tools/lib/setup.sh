# shellcheck shell=bash
# Set-up shared by tools/quickstart and tools/check; sourced, never run.
#
# Every step first looks whether its work is already done, without asking the
# network, so a second run gets to its job within seconds.

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
LLVM=/usr/lib/llvm-22
VENV=$REPO/.venv
REQUIREMENTS=$REPO/python/requirements.txt
VENV_TORCH=$REPO/.venv-torch # of tools/check --torch
REQUIREMENTS_TORCH=$REPO/python/requirements-torch.txt
VENV_DOCS=$REPO/.venv-docs # of tools/docs
REQUIREMENTS_DOCS=$REPO/python/requirements-docs.txt

# Debian's own python3, not whichever comes first on PATH: python3-dev brings
# the headers of this one, which the extension module needs.
PYTHON=/usr/bin/python3

PACKAGES=(
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools clang-22 lld-22
  ccache ninja-build cmake g++
  python3 python3-dev python3-venv
  libomp5 # threads of compiled kernels
  bible-kjv # prints the text that the demo runs the model on
)

# --- progress -----------------------------------------------------------------

step() {
  printf '\n==> [%4d s] %s\n' "$SECONDS" "$*"
}

note() {
  printf '    %s\n' "$*"
}

die() {
  printf '%s: error: %s\n' "$(basename "$0")" "$1" >&2
  shift
  if (($#)); then
    printf '  %s\n' "$@" >&2
  fi
  exit 1
}

# --- Debian packages ----------------------------------------------------------

as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    sudo "$@"
  fi
}

apt_get() {
  # The lock may be held by an unattended upgrade, or by another set-up.
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y -o DPkg::Lock::Timeout=600 "$@" </dev/null
}

# Prints those of the named packages that are not installed.
missing_packages() {
  local installed package
  installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' "$@" \
    2>/dev/null || true)
  for package in "$@"; do
    grep -qxF "ii $package" <<<"$installed" || printf '%s\n' "$package"
  done
}

# Prints those of the named packages that the package sources do not offer.
unavailable_packages() {
  local package
  for package in "$@"; do
    [[ -n $(apt-cache madison "$package" 2>/dev/null) ]] ||
      printf '%s\n' "$package"
  done
}

ensure_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    die "this is not a Debian system (no dpkg or apt-get)." \
      "The set-up needs Debian 12 with its security updates, which has LLVM 22."
  fi

  local missing unavailable
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then
    note "all $# Debian packages are there"
    return
  fi
  note "missing: ${missing[*]}"

  if ((EUID != 0)) && ! command -v sudo >/dev/null; then
    die "Debian packages are missing, and there is no sudo to install them." \
      "As root, run: apt-get update && apt-get install ${missing[*]}"
  fi
  apt_get update || die "apt-get update failed; see its messages above."
  mapfile -t unavailable < <(unavailable_packages "${missing[@]}")
  if ((${#unavailable[@]})); then
    die "no package source of this machine has: ${unavailable[*]}" \
      "Debian 12 (bookworm) has LLVM 22 in its security updates, and the" \
      "rest in its main section; this is $(release_name)." \
      "Add a source that has them (on Debian 12: the suite" \
      "bookworm-security, section main), then run this again."
  fi
  apt_get install --no-install-recommends "${missing[@]}" ||
    die "could not install: ${missing[*]}" "See apt-get's messages above."
}

release_name() {
  (
    # shellcheck source=/dev/null
    . /etc/os-release
    printf '%s' "$PRETTY_NAME"
  )
}

# --- Python environment -------------------------------------------------------

# What .venv was made from and where; it works in no other place.
# What a virtual environment in $1 is made of: Python, and the lists that follow.
venv_stamp() {
  printf '%s\n' "$1"
  "$PYTHON" --version
  cat "${@:2}" | sha256sum
}

venv_is_current() {
  [[ -f $1/kvq-stamp && $(<"$1/kvq-stamp") == "$(venv_stamp "$@")" ]]
}

# From scratch, so that nothing of an older list stays behind.
make_venv() {
  "$PYTHON" -m venv --clear "$1" ||
    die "could not create the virtual environment $1"
}

# The packages of list $2, with further options of pip, into $1.
install_list() {
  "$1/bin/python" -m pip install --quiet --no-input "${@:3}" -r "$2" </dev/null ||
    die "could not install the Python packages of ${2#"$REPO/"}"
}

ensure_venv() {
  if venv_is_current "$VENV" "$REQUIREMENTS"; then
    note ".venv is up to date"
    return
  fi
  note "installing python/requirements.txt into .venv"
  make_venv "$VENV"
  # --no-deps: the file lists all dependencies (it says why).
  install_list "$VENV" "$REQUIREMENTS" --no-deps
  venv_stamp "$VENV" "$REQUIREMENTS" >"$VENV/kvq-stamp"
}

# An environment with PyTorch, beside .venv, whose packages it has too. A wheel
# for processors is a tenth of the size of one for GPUs: KVQ_TORCH_INDEX may name
# an index that has such.
ensure_venv_torch() {
  local lists=("$REQUIREMENTS" "$REQUIREMENTS_TORCH")
  if venv_is_current "$VENV_TORCH" "${lists[@]}"; then
    note ".venv-torch is up to date"
    return
  fi
  note "installing python/requirements-torch.txt into .venv-torch"
  make_venv "$VENV_TORCH"
  install_list "$VENV_TORCH" "$REQUIREMENTS" --no-deps
  if [[ ${KVQ_TORCH_INDEX:-} ]]; then
    "$VENV_TORCH/bin/python" -m pip install --quiet --no-input --index-url "$KVQ_TORCH_INDEX" \
      "$(grep '^torch==' "$REQUIREMENTS_TORCH")" </dev/null ||
      die "could not install PyTorch from KVQ_TORCH_INDEX=$KVQ_TORCH_INDEX"
  fi
  install_list "$VENV_TORCH" "$REQUIREMENTS_TORCH"
  venv_stamp "$VENV_TORCH" "${lists[@]}" >"$VENV_TORCH/kvq-stamp"
}

# An environment with MkDocs and nothing else.
ensure_venv_docs() {
  if venv_is_current "$VENV_DOCS" "$REQUIREMENTS_DOCS"; then
    return
  fi
  note "installing python/requirements-docs.txt into .venv-docs"
  make_venv "$VENV_DOCS"
  install_list "$VENV_DOCS" "$REQUIREMENTS_DOCS" --no-deps
  venv_stamp "$VENV_DOCS" "$REQUIREMENTS_DOCS" >"$VENV_DOCS/kvq-stamp"
}

# --- build --------------------------------------------------------------------

# A clone in another folder compiles the same files to the same objects: with
# paths below the repository taken as relative, it finds them in the cache.
export CCACHE_BASEDIR=$REPO
export CCACHE_NOHASHDIR=1
# What ccache asks for with precompiled headers.
export CCACHE_SLOPPINESS=pch_defines,time_macros

# build DIR [CMAKE-OPTION...]: brings the build tree DIR up to date.
build() {
  local dir=$1
  shift
  configure "$dir" "$@"
  NINJA_STATUS='    [%f/%t, %e s] ' ninja -C "$dir" -j "$(nproc)" ||
    die "the build in $dir failed; the first error is above."
}

configure() {
  local dir=$1 stamp
  shift
  local options=(
    -G Ninja
    -D CMAKE_C_COMPILER=clang-22
    -D CMAKE_CXX_COMPILER=clang++-22
    -D CMAKE_C_COMPILER_LAUNCHER=ccache
    -D CMAKE_CXX_COMPILER_LAUNCHER=ccache
    -D CMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld
    -D CMAKE_SHARED_LINKER_FLAGS=-fuse-ld=lld
    -D CMAKE_MODULE_LINKER_FLAGS=-fuse-ld=lld
    -D CMAKE_EXPORT_COMPILE_COMMANDS=ON
    -D "MLIR_DIR=$LLVM/lib/cmake/mlir"
    -D "LLVM_DIR=$LLVM/lib/cmake/llvm"
    -D "Python_EXECUTABLE=$VENV/bin/python"
    "$@"
  )
  # Ninja reruns CMake by itself when a CMakeLists.txt changes. Only another
  # place, other options or another .venv ask for a fresh start.
  stamp=$(printf '%s\n' "$dir" "${options[@]}" && venv_stamp "$VENV" "$REQUIREMENTS")
  if [[ -f $dir/build.ninja && -f $dir/kvq-stamp &&
    $(<"$dir/kvq-stamp") == "$stamp" ]]; then
    return
  fi
  mkdir -p "$dir"
  # Not `cmake --fresh`: it refuses a build tree that came from another place.
  rm -rf "$dir/CMakeCache.txt" "$dir/CMakeFiles" "$dir/kvq-stamp"
  cmake --log-level=NOTICE -S "$REPO" -B "$dir" "${options[@]}" ||
    die "CMake could not configure $dir; its error is above."
  printf '%s\n' "$stamp" >"$dir/kvq-stamp"
}

# --- all of it ----------------------------------------------------------------

# PACKAGES, .venv and build/.
set_up() {
  step "Debian packages"
  ensure_packages "${PACKAGES[@]}"
  step "Python environment"
  ensure_venv
  step "Build in build/"
  build "$REPO/build" -D CMAKE_BUILD_TYPE=Release
  export PYTHONPATH=$REPO/build/python${PYTHONPATH:+:$PYTHONPATH}
}
