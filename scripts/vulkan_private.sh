#!/usr/bin/env bash
# vulkan_private.sh: unpacks lavapipe and what it needs beyond this machine's packages into .cache/vulkan and writes
# .cache/vulkan/env, which scripts/in-env reads. For a user who may not install packages; apt downloads without root.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/say.sh
. scripts/apt.sh

target=$PWD/.cache/vulkan
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/cache/archives/partial" "$work/root"
mapfile -t options < <(apt_options "$work")
mapfile -t release < <(mesa_release)
options+=(-o Debug::NoLocking=true -o "Dir::Cache=$work/cache")
LC_ALL=C apt-get "${options[@]}" update >&2 || true
LC_ALL=C apt-get "${options[@]}" install -y --download-only --no-install-recommends "${release[@]}" \
  mesa-vulkan-drivers libvulkan1 >"$work/log" 2>&1 || { tail -n 10 "$work/log" >&2; exit 1; }

for package in "$work"/cache/archives/*.deb; do
  dpkg-deb -x "$package" "$work/root"
done

manifest=$(find "$work/root/usr/share/vulkan/icd.d" -name 'lvp_icd*.json' | head -n 1)
driver=$(find "$work/root" -name libvulkan_lvp.so | head -n 1)
[ -n "$manifest" ] && [ -n "$driver" ] || fail "the packages from apt hold no lavapipe driver"
libraries=$target/root${driver#"$work/root"}
# The manifest names the driver as installed; here it lies elsewhere.
sed -i "s|\"library_path\" *: *\"[^\"]*\"|\"library_path\": \"$libraries\"|" "$manifest"
cat >"$work/env" <<ENV
export VK_DRIVER_FILES='$target/root${manifest#"$work/root"}'
export LD_LIBRARY_PATH='${libraries%/*}'\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
ENV

# The finished folder appears in one step, so an interrupted run leaves nothing that looks complete.
rm -rf "$target" "$target.new"
mkdir -p "$target.new"
mv "$work/root" "$work/env" "$target.new/"
mv "$target.new" "$target"
