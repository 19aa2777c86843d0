#!/usr/bin/env bash
# Makes this checkout ready to work in: tools/setup.sh STEP...
#
#   run        what builds and runs the loader: Debian packages, and Python packages in .venv
#   compile    those of run, and the Debian packages that test and check the core
#   dev        those of compile, and the Python packages that test, check and measure
#   docs       what builds the documentation in .venv, and the Debian packages that check its spelling
#   wheel      .venv with what repairs wheels
#   extension  drapps._core, built in build/release and linked into python/drapps, importable from .venv
#
# Debian's packages stand in tools/debian, Python's in tools/requirements. A step that has nothing to do takes a moment,
# so every make target simply asks for all it needs.
set -euo pipefail
cd "$(dirname "$0")/.."

python=.venv/bin/python

# Installs the Debian packages of the files named.
debian() {
  local missing=() name
  if ! command -v dpkg-query > /dev/null; then
    echo "setup: not a Debian system; the packages to look for are in $*" >&2
    return
  fi
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
  while read -r name; do
    grep -qxF "$name" <<< "$installed" || missing+=("$name")
  done < <(grep -hv '^#' "$@")
  ((${#missing[@]})) || return 0

  local sudo=()
  ((EUID == 0)) || sudo=(sudo)
  if ((EUID != 0)) && ! sudo -n true 2> /dev/null; then
    echo "setup: system packages are missing and may not be installed from here. Please run:" >&2
    echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  echo "setup: installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

# Installs the requirement files named into .venv, once for each content they have.
requirements() {
  local group=$1 stamp hash
  stamp=.venv/.installed-$group
  hash=$(cat tools/requirements/"$group"*.txt | sha256sum)
  [[ -f $stamp && $(< "$stamp") == "$hash" ]] && return
  echo "setup: installing the Python packages of tools/requirements/$group*.txt into .venv"
  [[ -x $python ]] || python3 -m venv .venv
  if ! pip_install "$group"; then
    # Where the package index in use has no CPU build of torch, PyTorch's own has.
    PIP_EXTRA_INDEX_URL="${PIP_EXTRA_INDEX_URL:-} https://download.pytorch.org/whl/cpu" pip_install "$group"
  fi
  "$python" tools/cpu_torchvision.py
  echo "$hash" > "$stamp"
}

# Python compiles what is imported, which is little of what is installed.
pip_install() {
  local pip=("$python" -m pip --disable-pip-version-check -qq install --no-compile)
  "${pip[@]}" -r "tools/requirements/$1.txt" || return
  [[ ! -f tools/requirements/$1-no-deps.txt ]] || "${pip[@]}" --no-deps -r "tools/requirements/$1-no-deps.txt"
}

extension() {
  local log=build/extension.log
  [[ build/release/build.ninja -nt CMakePresets.json ]] || cmake --preset extension > "$log" || { cat "$log" >&2; exit 1; }
  cmake --build --preset release --target _core_stub > "$log" || { cat "$log" >&2; exit 1; }
  local path
  path=$(echo .venv/lib/python3.*/site-packages)/drapps.pth
  [[ -f $path ]] || echo "$PWD/python" > "$path"
}

mkdir -p build
for step in "$@"; do
  # Two make targets at once take turns; what compiles does not wait for packages that it needs none of.
  exec 9> "build/.setup-$([[ $step == extension ]] && echo extension || echo packages).lock"
  flock 9
  case $step in
    run)
      debian tools/debian/run.txt
      requirements run
      ;;
    compile | dev)
      debian tools/debian/run.txt tools/debian/dev.txt
      requirements run
      [[ $step == compile ]] || requirements dev
      ;;
    docs)
      debian tools/debian/docs.txt
      requirements docs
      ;;
    wheel) requirements wheel ;;
    extension) extension ;;
    *) echo "setup: unknown step '$step'; known are run, compile, dev, docs, wheel and extension" >&2 && exit 2 ;;
  esac
done
