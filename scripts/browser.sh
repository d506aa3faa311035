#!/usr/bin/env bash
# browser.sh: Chromium, for the tests that look at pages. They are skipped without it, so this never fails: it says what is
# missing and how to get it.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/say.sh
. scripts/apt.sh

command -v chromium >/dev/null && exit 0
# Where it could not be had it is not tried again each time: that would need the network.
tried=.cache/browser-tried
[ ! -e $tried ] || exit 0
# Ubuntu's package is an empty one that installs a snap.
if [ "$(sed -n 's/^ID=//p' /etc/os-release 2>/dev/null)" = debian ] && apt_allowed "Chromium"; then
  say "installing Chromium for the tests of pages (about 1 minute)"
  apt_install chromium && command -v chromium >/dev/null && exit 0
fi
touch $tried
say "no Chromium: the tests of pages are skipped. To have them: install chromium (Debian: apt-get install chromium;" \
  "Ubuntu: snap install chromium), then make setup"
