#!/usr/bin/env bash
# spec.sh: builds spec_proposal/index.bs into build/spec/index.html; fails on any error or warning. Bikeshed pins old versions of
# packages that the project uses itself, so it has an environment of its own in .cache/bikeshed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/say.sh
requirement='bikeshed>=4.2,<5' # 5 and newer need Python 3.12
home=.cache/bikeshed

if [ "$(cat $home/installed 2>/dev/null)" != "$requirement" ]; then
  say "installing Bikeshed into $home (a minute the first time)"
  rm -rf $home
  .venv/bin/python -m venv $home
  $home/bin/python -m pip install -q --disable-pip-version-check "$requirement" >&2 ||
    fail "pip could not install Bikeshed (see above): check the network or pip's settings (pip config list), then run make spec again"
  echo "$requirement" >$home/installed
fi

mkdir -p build/spec
cd spec_proposal
# --no-update: the data of the other specifications are those of the package, so a build says the same everywhere.
"../$home/bin/bikeshed" --print plain --quiet --no-update --die-on=everything --die-when=late spec index.bs ../build/spec/index.html
say "build/spec/index.html"
