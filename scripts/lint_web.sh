#!/usr/bin/env bash
# lint_web.sh: lint and types of what spec_proposal has in JavaScript; says so where the tools are missing.
set -euo pipefail
cd "$(dirname "$0")/../spec_proposal"
. ../scripts/say.sh
if [ ! -e node_modules/.installed ]; then
  say "spec_proposal is not linted: its tools are not installed (make setup says why)"
  exit 0
fi
node node_modules/eslint/bin/eslint.js .
node node_modules/typescript/bin/tsc --project .
