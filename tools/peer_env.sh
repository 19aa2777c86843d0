#!/usr/bin/env bash
# Makes the pinned Python environment of one rival of a benchmark: tools/peer_env.sh FOLDER NAME
#
#   FOLDER/NAME.txt          exact pins of all it needs, installed as they stand
#   FOLDER/NAME-source.txt   if there: pins that are built here, against what the first file installed
#   FOLDER/NAME-debian.txt   if there: the Debian packages that it links
#
# The environment is build/bench/envs/NAME, remade when one of the files changes, and ready in a moment
# otherwise. Where it cannot be made, the last line on standard error says why.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1 name=$2
place=build/bench/envs/$name
python=$place/bin/python

debian() {
  local list=$folder/$name-debian.txt missing=() installed package
  [[ -f $list ]] || return 0
  command -v dpkg-query > /dev/null || return 0  # whether it loads will tell
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
  while read -r package; do
    grep -qxF "$package" <<< "$installed" || missing+=("$package")
  done < "$list"
  ((${#missing[@]})) || return 0

  local sudo=()
  ((EUID == 0)) || sudo=(sudo)
  if ((EUID != 0)) && ! sudo -n true 2> /dev/null; then
    echo "needs Debian packages: sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  echo "peers: installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  "${sudo[@]}" apt-get update -qq
  if ! "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" > "$place.log" 2>&1; then
    echo "apt-get cannot install ${missing[*]}, see $place.log" >&2
    exit 1
  fi
}

pip() {
  "$python" -m pip --disable-pip-version-check -q install --no-deps --no-build-isolation "$@" >> "$place.log" 2>&1
}

packages() {
  pip -r "$folder/$name.txt" || {
    # Where the package index in use has no CPU build of torch, PyTorch's own has.
    export PIP_EXTRA_INDEX_URL="${PIP_EXTRA_INDEX_URL:-} https://download.pytorch.org/whl/cpu"
    pip -r "$folder/$name.txt"
  } || return
  [[ ! -f $folder/$name-source.txt ]] || pip -r "$folder/$name-source.txt"
}

mkdir -p build/bench/envs
exec 9> "$place.lock"
flock 9
debian
shopt -s nullglob
hash=$(cat "$folder/$name.txt" "$folder/$name"-*.txt | sha256sum)
[[ -x $python && -f $place/.complete && $(< "$place/.complete") == "$hash" ]] && exit
echo "peers: making the environment of $name"
rm -rf "$place"
: > "$place.log"
python3 -m venv "$place"
if ! packages; then
  echo "pip cannot install $folder/$name*.txt: $(grep -E "^ *(ERROR|error):" "$place.log" | tail -n 1)" >&2
  exit 1
fi
"$python" tools/cpu_torchvision.py
echo "$hash" > "$place/.complete"
