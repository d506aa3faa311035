#!/usr/bin/env bash
# compiler.sh PYTHON: a C compiler and the headers of PYTHON, for the walker. The walker is optional, so this never fails: it
# says what is missing and how to get it. Prints nothing on stdout.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/say.sh
. scripts/apt.sh
python=$1

compiler_here() { command -v "${CC:-cc}" >/dev/null || command -v gcc >/dev/null; }
headers_here() { "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'; }

compiler_here && headers_here && exit 0

packages=(gcc libc6-dev)
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
# Only Debian's own python takes its headers from a Debian package.
case $("$python" -c 'import sys; print(sys.base_prefix)') in /usr) packages+=("libpython$version-dev") ;; esac

if apt_allowed "a C compiler"; then
  say "installing a C compiler for the walker (${packages[*]})"
  apt_install "${packages[@]}" && compiler_here && headers_here && exit 0
fi
say "no C compiler with Python headers: cmdgraph will walk its arrays in Python, at about twice the host time." \
  "To have the C walker: apt-get install ${packages[*]}, then make setup"
