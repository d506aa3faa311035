# shellcheck shell=bash
# Sourced: how the scripts speak. Everything goes to stderr; stdout belongs to the command that is set up.
say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$@"; exit 1; }
