# shellcheck shell=bash
# Sourced: installs system packages with apt, without changing the machine's list of sources. Needs say.sh.

is_root() { [ "$(id -u)" = 0 ]; }

as_root() {
  if is_root; then "$@"; else sudo "$@"; fi
}

# Whether apt is here and we may use it: as root, or by sudo without a password, or with one when somebody is there to type it.
apt_allowed() {
  command -v apt-get >/dev/null || return 1
  is_root && return 0
  command -v sudo >/dev/null || return 1
  sudo -n true 2>/dev/null && return 0
  [ -t 0 ] && [ -t 2 ] || return 1
  say "$1 has to be installed with apt; sudo may ask for your password"
  sudo -v
}

os_codename() { sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null; }

# The mirror that this machine takes its Debian packages from.
debian_mirror() {
  local found
  found=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] *\)\{0,1\}\([^ ]*\) .*/\2/p' | grep -E '/debian/?$' | head -n 1) || true
  printf '%s\n' "${found:-http://deb.debian.org/debian}"
}

# apt_options FOLDER: options, one a line, that make apt keep its sources and lists in FOLDER. The sources are the machine's own
# and, on Debian 12, bookworm-backports, which has the recent Mesa.
apt_options() {
  local folder=$1 keyring=/usr/share/keyrings/debian-archive-keyring.gpg signed=
  mkdir -p "$folder/sources" "$folder/lists/partial"
  cp /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources "$folder/sources/" 2>/dev/null || true
  [ ! -e /etc/apt/sources.list ] || cp /etc/apt/sources.list "$folder/sources/machine.list"
  if [ "$(os_codename)" = bookworm ] && ! grep -qs bookworm-backports "$folder"/sources/*; then
    [ ! -e "$keyring" ] || signed="[signed-by=$keyring] "
    echo "deb $signed$(debian_mirror) bookworm-backports main" >"$folder/sources/backports.list"
  fi
  printf '%s\n' -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o APT::Sandbox::User=root \
    -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$folder/sources" -o "Dir::State::Lists=$folder/lists"
}

# Where the recent Mesa comes from, as options of `apt-get install`.
mesa_release() {
  [ "$(os_codename)" != bookworm ] || printf '%s\n' -t bookworm-backports
}

# apt_install [OPTION...] PACKAGE...: fetches the lists and installs; fails with apt's own words.
apt_install() {
  local folder options status=0
  folder=$(mktemp -d)
  mapfile -t options < <(apt_options "$folder")
  # A source of the machine that cannot be reached is no reason to stop: the install tells whether the packages were found.
  as_root env LC_ALL=C apt-get "${options[@]}" update >&2 || true
  as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" install -y --no-install-recommends "$@" \
    >"$folder/log" 2>&1 9>&- || status=$?
  [ $status = 0 ] || tail -n 15 "$folder/log" >&2
  as_root rm -rf "$folder"
  return $status
}
