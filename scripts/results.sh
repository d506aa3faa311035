#!/usr/bin/env bash
# results.sh NAME: measures on this machine and writes spec_proposal/results/*-NAME.json (about 2 minutes). Run it on a quiet machine.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:?"a name for the adapter, for example lavapipe"}
out=spec_proposal/results

new=.cache/results # files appear in $out together, when all have succeeded: each notes whether the checkout was clean
rm -rf "$new"
mkdir -p "$new" "$out"

measure() { # FILE COMMAND...
  local file=$1
  shift
  "$@" >"$new/$file"
}

measure "strategies-$name.json" python -m cmdgraph bench strategies --dispatches 876 -o json
measure "checks-$name.json" python -m cmdgraph bench checks -o json
measure "decode-$name.json" python -m llm bench --model smollm2-135m --plan unfused \
  --strategies eager,per-op,single-pass --tokens 16 -o json
mv "$new"/*.json "$out"/
