#!/usr/bin/env bash
# setup.sh EXTRA: everything the extra (demo or dev) needs on this machine; quick and without the network when all is there.
set -euo pipefail
cd "$(dirname "$0")/.."
extra=${1:?"which extra: demo or dev"}

mkdir -p .cache
# Two makes in one tree take turns: both would write .venv.
if command -v flock >/dev/null; then
  exec 9>.cache/setup.lock
  flock 9
fi

scripts/venv.sh "$extra"
scripts/vulkan.sh
[ "$extra" != dev ] || scripts/browser.sh
[ "$extra" != dev ] || scripts/node.sh
