#!/usr/bin/env bash
# vulkan.sh: a Vulkan driver that wgpu can use. A GPU's own driver is left as it is; without one, a recent software driver
# (Mesa's lavapipe) is installed with apt, or unpacked into .cache/vulkan where we may not install.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/say.sh
. scripts/apt.sh

# Exit status of the probe: 0 good, 3 usable but slow, 4 none.
probe() { scripts/in-env python scripts/vulkan_probe.py; }

status=0
found=$(probe) || status=$?
[ $status != 0 ] || exit 0
# An old driver that could not be replaced is not tried again each time: that would need the network.
tried=.cache/vulkan-tried
[ $status != 3 ] || [ ! -e $tried ] || exit 0

if apt_allowed "a software Vulkan driver"; then
  say "$found; installing Mesa's software Vulkan driver (about 1 minute)"
  mapfile -t release < <(mesa_release)
  apt_install "${release[@]}" mesa-vulkan-drivers libvulkan1 || true
  probe >/dev/null && exit 0
fi
if command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
  say "unpacking Mesa's software Vulkan driver into .cache/vulkan, for this project alone"
  scripts/vulkan_private.sh || true
  probe >/dev/null && exit 0
fi

status=0
found=$(probe) || status=$?
: "${found:="the Vulkan driver does not start"}"
touch $tried
say "$found. Install your GPU's Vulkan driver, or Mesa 25 or newer (Debian, Ubuntu: mesa-vulkan-drivers libvulkan1;" \
  "Fedora: mesa-vulkan-drivers vulkan-loader; Arch: vulkan-swrast), then run make again"
# An old driver is slow but works; none at all is where it ends.
[ $status = 3 ]
