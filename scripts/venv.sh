#!/usr/bin/env bash
# venv.sh EXTRA: .venv with this project (editable) and its extra (demo or dev). Does nothing when what it would install is
# what it installed last: pyproject.toml, setup.py, the C sources, the Python and whether there is a compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/say.sh
. scripts/apt.sh
extra=$1
python=${PYTHON:-python3}

fingerprint() {
  {
    cat pyproject.toml setup.py cmdgraph/replay/walker* cmdgraph/bench/phases*
    .venv/bin/python -VV
    pwd -P
    command -v "${CC:-cc}" || command -v gcc || echo "no compiler"
  } 2>/dev/null | cksum
}

up_to_date() {
  local have
  [ -x .venv/bin/python ] || return 1
  # What the demo needs is part of what development needs.
  for have in "$extra" dev; do
    [ "$(cat ".venv/installed-$have" 2>/dev/null)" != "$(fingerprint)" ] || return 0
  done
  return 1
}

make_venv() {
  local package
  command -v "$python" >/dev/null || fail "$python is not installed: install Python 3.11 or newer (apt-get install python3 python3-venv)"
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$("$python" -V) is too old: cmdgraph needs Python 3.11 or newer; name one with make PYTHON=python3.12 ..."
  if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    say "the venv module is missing; installing $package"
    if ! apt_allowed "$package" || ! apt_install "$package"; then fail "the venv module is missing: apt-get install $package"; fi
  fi
  say "making .venv with $("$python" -V)"
  rm -rf .venv
  "$python" -m venv .venv || { rm -rf .venv; fail "python could not make .venv in $PWD (see above)"; }
}

# The programs in .venv/bin hold its path: in a checkout that was moved or copied they would run another one.
usable() {
  grep -qsF "$(pwd -P)/.venv" .venv/bin/activate && .venv/bin/python -m pip --version >/dev/null 2>&1
}

up_to_date && exit 0
usable || make_venv
scripts/compiler.sh .venv/bin/python
say "installing Python packages into .venv (a minute or two the first time)"
.venv/bin/python -m pip install -q --disable-pip-version-check -e ".[$extra]" >&2 ||
  fail "pip could not install the packages (see above): check the network or pip's settings (pip config list), then run make again"
fingerprint >".venv/installed-$extra"
