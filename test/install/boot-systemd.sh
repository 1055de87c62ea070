#!/usr/bin/env bash
# Boots this machine's systemd as process 1 of namespaces of its own, over a copy of the file system that is written to
# memory only, and runs in-systemd.sh in it. Network, processes and mounts are the namespaces' own; the kernel takes
# everything back when process 1 ends, and nothing outside is touched. `--check` only says whether that can be had here.
#
# Usage: boot-systemd.sh --check | SHARED_FOLDER, which holds node, prefix/ and what in-systemd.sh wants; its output
# goes to SHARED_FOLDER/output.

set -euo pipefail

scripts=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
unshare=(unshare --mount --pid --net --cgroup --fork --kill-child)

# Within the new namespaces: the copy, at $1.
lay_copy() {
  mount --make-rprivate /
  mount -t tmpfs tmpfs "$1"
  mkdir "$1/written" "$1/work" "$1/root"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$1/written,workdir=$1/work" "$1/root"
  mount -t proc proc "$1/root/proc"
  mount -t sysfs sysfs "$1/root/sys"
  mount -t cgroup2 cgroup2 "$1/root/sys/fs/cgroup"
  mount --rbind /dev "$1/root/dev"
  mount -t tmpfs tmpfs "$1/root/run"
  mount -t tmpfs tmpfs "$1/root/tmp"
}

# Within: becomes process 1.
boot() {
  local shared=$1 root=$2/root
  lay_copy "$2"
  ip link set lo up
  mkdir "$root/shared"
  mount --bind "$shared" "$root/shared"
  cp "$scripts/in-systemd.sh" "$root/usr/local/bin/"
  # Nothing of what this machine starts.
  rm --recursive --force "$root"/etc/systemd/system/*.wants
  cat >"$root/etc/systemd/system/checks.service" <<UNIT
[Service]
Type=oneshot
ExecStart=/bin/bash /usr/local/bin/in-systemd.sh
StandardOutput=file:/shared/output
StandardError=inherit
ExecStopPost=/bin/systemctl --no-block exit
UNIT
  mkdir "$root/tmp/old"
  cd "$root"
  pivot_root . tmp/old
  umount --lazy /tmp/old
  exec env --ignore-environment container=other PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=checks.service --show-status=no </dev/null
}

case ${1:-} in
--check)
  [ -x /lib/systemd/systemd ] || { echo "there is no systemd" && exit 1; }
  command -v ip >/dev/null || { echo "there is no ip" && exit 1; }
  copy=$(mktemp --directory)
  trap 'rmdir "$copy"' EXIT
  "${unshare[@]}" bash "$0" --lay "$copy" >/dev/null 2>&1 || { echo "no namespaces, or no overlay, can be made" && exit 1; }
  ;;
--lay) lay_copy "$2" ;;
--boot) boot "$2" "$3" ;;
*)
  copy=$(mktemp --directory)
  trap 'rmdir "$copy"' EXIT
  "${unshare[@]}" bash "$0" --boot "$(realpath "$1")" "$copy"
  ;;
esac
