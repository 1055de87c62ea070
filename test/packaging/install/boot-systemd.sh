#!/usr/bin/env bash
# Boots this machine's systemd as process 1 of separate namespaces, over a copy of the file system that is written to
# memory only, and runs in-systemd.sh in it. It cannot access devices, kernel settings and mounts of this machine; the
# kernel removes everything when process 1 ends. `--check` only prints whether that is possible here.
#
# Usage: boot-systemd.sh --check | SHARED_FOLDER, which contains node, prefix/ and the files that in-systemd.sh needs;
# its output goes to SHARED_FOLDER/output.

set -euo pipefail

scripts=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
unshare=(unshare --mount --pid --net --ipc --uts --cgroup --fork --kill-child)

# Runs within the new namespaces: creates the copy below $1.
lay_copy() {
  local whole=$1/whole device
  mount --make-rprivate /
  mount -t tmpfs tmpfs "$1"
  mkdir "$1/written" "$1/overlay" "$whole"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$1/written,workdir=$1/overlay" "$whole"
  mount -t proc proc "$whole/proc"
  mount --bind "$whole/proc/sys" "$whole/proc/sys"
  mount -o remount,bind,ro "$whole/proc/sys"
  mount -t sysfs -o ro sysfs "$whole/sys"
  mount -t cgroup2 cgroup2 "$whole/sys/fs/cgroup"
  mount -t tmpfs tmpfs "$whole/run"
  mount -t tmpfs tmpfs "$whole/tmp"
  mount -t tmpfs tmpfs "$whole/dev"
  mkdir "$whole/dev/shm" "$whole/dev/pts"
  mount -t tmpfs tmpfs "$whole/dev/shm"
  mount -t devpts -o newinstance,ptmxmode=0666 devpts "$whole/dev/pts"
  ln --symbolic pts/ptmx "$whole/dev/ptmx"
  for device in null zero full random urandom tty; do
    touch "$whole/dev/$device"
    mount --bind "/dev/$device" "$whole/dev/$device"
  done
}

# Runs within the new namespaces: becomes process 1.
boot() {
  local shared=$1 whole=$2/whole
  lay_copy "$2"
  ip link set lo up
  mkdir "$whole/shared"
  mount --bind "$shared" "$whole/shared"
  cp "$scripts/in-systemd.sh" "$whole/usr/local/bin/"
  # Without the mounts and services of this machine.
  : >"$whole/etc/fstab"
  rm --recursive --force "$whole"/etc/systemd/system/*.wants
  cat >"$whole/etc/systemd/system/checks.service" <<UNIT
[Service]
Type=oneshot
ExecStart=/bin/bash /usr/local/bin/in-systemd.sh
StandardOutput=file:/shared/output
StandardError=inherit
ExecStopPost=/bin/systemctl --no-block exit
UNIT
  mkdir "$whole/tmp/old"
  cd "$whole"
  pivot_root . tmp/old
  umount --lazy /tmp/old
  local path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  exec env --ignore-environment container=other PATH="$path" \
    /lib/systemd/systemd --system --unit=checks.service --show-status=no </dev/null
}

case ${1:-} in
--lay) lay_copy "$2" && exit ;;
--boot) boot "$2" "$3" ;;
esac

refuse() {
  echo "$1"
  exit 1
}

copy=$(mktemp --directory)
trap 'rmdir "$copy"' EXIT
case ${1:-} in
--check)
  [ -x /lib/systemd/systemd ] || refuse "there is no systemd"
  command -v ip >/dev/null || refuse "there is no ip"
  "${unshare[@]}" bash "$0" --lay "$copy" >/dev/null 2>&1 || refuse "namespaces, or an overlay in them, cannot be created"
  ;;
*) "${unshare[@]}" bash "$0" --boot "$(realpath "$1")" "$copy" ;;
esac
