#!/usr/bin/env bash
# native.sh [optional]: builds the native layer, after installing what it takes where that is missing and we may: a compiler, the
# Vulkan headers, and the validation layer that its tests ask. With "optional" what cannot be had is told, and is no failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/say.sh
. scripts/apt.sh
optional=${1:-}

library=cmdgraph/native/libVkLayer_cmdgraph.so
validation_here() {
  [ -e /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ] || [ -e /usr/lib/chromium/libVkLayer_khronos_validation.so ]
}

up_to_date() { [ -e $library ] && [ -z "$(find cmdgraph/native/layer cmdgraph/native/build.py -newer $library)" ]; }
headers_here() { echo '#include <vulkan/vk_layer.h>' | "$(command -v "${CC:-cc}" || echo gcc)" -E -xc - >/dev/null 2>&1; }

missing=()
up_to_date || headers_here || missing+=(gcc libc6-dev libvulkan-dev)
[ -z "$optional" ] || validation_here || missing+=(vulkan-validationlayers)
# What was in vain once is not tried again each time: that would need the network.
tried=.cache/native-tried
[ -z "$optional" ] || [ ! -e $tried ] || missing=()
if [ ${#missing[@]} != 0 ] && apt_allowed "what the native layer takes"; then
  say "installing what the native layer takes (${missing[*]})"
  apt_install "${missing[@]}" || touch $tried
fi

up_to_date && exit 0
scripts/in-env python -m cmdgraph.native.build >&2 && exit 0
[ -n "$optional" ] || exit 1
touch $tried
say "going on without the native layer; its tests are left out"
