#!/usr/bin/env bash
# results.sh NAME: measures on this machine and writes spec_proposal/results/*-NAME.json (about 2 minutes). Run it on a quiet machine.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:?"a name for the adapter, for example lavapipe"}
out=spec_proposal/results

mkdir -p .cache "$out"

measure() { # FILE COMMAND...: a file appears only when its command has succeeded
  local file=$1
  shift
  "$@" >".cache/$file"
  mv ".cache/$file" "$out/$file"
}

measure "strategies-$name.json" python -m cmdgraph bench strategies --dispatches 876 -o json
measure "decode-$name.json" python -m llm bench --model smollm2-135m --plan unfused \
  --strategies eager,per-op,single-pass --tokens 16 -o json
