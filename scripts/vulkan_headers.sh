#!/usr/bin/env bash
# vulkan_headers.sh: the Vulkan headers, for the native layer; installed with apt where they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/say.sh
. scripts/apt.sh

headers_here() {
  echo '#include <vulkan/vk_layer.h>' | "${CC:-cc}" -E -xc - >/dev/null 2>&1 || echo '#include <vulkan/vk_layer.h>' | gcc -E -xc - >/dev/null 2>&1
}

headers_here && exit 0
if apt_allowed "the Vulkan headers"; then
  say "installing the Vulkan headers for the native layer (libvulkan-dev)"
  apt_install libvulkan-dev && headers_here && exit 0
fi
fail "no Vulkan headers: apt-get install gcc libc6-dev libvulkan-dev, or name the folder that holds vulkan/ with CPATH=, then run make native again"
