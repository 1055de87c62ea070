#!/usr/bin/env bash
# Runs the tests of this folder: builds the unchanged Dockerfile, and runs vitest, which starts containers of it. Nothing
# is pulled: the base image that it names is made here, under the same name, from Debian's packages and from the
# packages `node` and `npm` of the npm registry. Images and containers are in a temporary folder; mounts and processes
# in separate namespaces, so the kernel removes them when the last process ends, however it ends.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

# Debian's dpkg needs these folders, and root's path may not have them.
export PATH="$PATH:/usr/sbin:/sbin"
unshare=(unshare --mount --pid --fork --kill-child --mount-proc)

# Prints why the tests cannot run here; nothing when they can.
missing() {
  local tool problem
  [ "$(id --user)" -eq 0 ] || { printf 'it needs root\n' && return; }
  for tool in unshare mmdebstrap buildah podman podman-compose catatonit runc conmon tini; do
    command -v "$tool" >/dev/null || { printf 'there is no %s\n' "$tool" && return; }
  done
  problem=$("${unshare[@]}" true 2>&1) || printf 'namespaces cannot be made here: %s\n' "${problem//$'\n'/; }"
}

# Configures the engine for a machine without systemd, with all files below FOLDER.
configure() {
  local folder=$1
  printf '[storage]\ndriver = "overlay"\ngraphroot = "%s/graph"\nrunroot = "%s/run"\n' "$folder" "$folder" \
    >"$folder/storage.conf"
  printf '%s\n' '[containers]' 'default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]' 'log_driver = "k8s-file"' \
    '[engine]' 'runtime = "runc"' 'cgroup_manager = "cgroupfs"' 'events_logger = "file"' \
    "tmp_dir = \"$folder/engine\"" '[network]' "network_config_dir = \"$folder/networks\"" >"$folder/containers.conf"
  export CONTAINERS_STORAGE_CONF="$folder/storage.conf" CONTAINERS_CONF="$folder/containers.conf"
}

# make_base FOLDER NAME: replaces Docker's image of Node.js: Debian, node, npm, and the address of this machine's
# registry.
make_base() {
  local root="$1/root" packages="$1/packages" suite=${2#*-} version=${2#*node:}
  suite=${suite%-slim}
  npm install --prefix "$packages" --no-save --no-package-lock --ignore-scripts=false --loglevel=error \
    "node@${version%%-*}" npm@11
  mmdebstrap --quiet --mode=root --variant=minbase --include=libatomic1,libstdc++6 \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' "$suite" "$root"
  mkdir --parents "$root/usr/local/"{bin,etc,lib/node_modules}
  cp "$packages/node_modules/node/bin/node" "$root/usr/local/bin/node"
  cp --recursive "$packages/node_modules/npm" "$root/usr/local/lib/node_modules/npm"
  ln --symbolic ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  # A hanging request is retried within the time limit of an installation.
  printf 'registry=%s\ncache=/npm-cache\nfetch-timeout=60000\n' "$(npm config get registry)" \
    >"$root/usr/local/etc/npmrc"
  local authorities
  authorities=$(npm config get cafile)
  [ -f "$authorities" ] || authorities=${NODE_EXTRA_CA_CERTS-}
  if [ -f "$authorities" ]; then
    cp "$authorities" "$root/usr/local/etc/registry.pem"
    printf 'cafile=/usr/local/etc/registry.pem\n' >>"$root/usr/local/etc/npmrc"
  fi
  tar --create --file "$1/base.tar" --directory "$root" --exclude=./dev .
  podman import --quiet --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
    "$1/base.tar" "$2"
}

# Runs within the namespaces: makes the base, builds the image, runs the tests.
build_and_test() {
  local folder=$1
  shift
  configure "$folder"
  IMAGE_BASE=$(sed --quiet 's/^ARG NODE_IMAGE=//p' Dockerfile)
  export IMAGE_BASE IMAGE_NAME=localhost/tonearm:latest
  make_base "$folder" "$IMAGE_BASE"
  buildah build --quiet --pull-never --isolation chroot --network host --format docker --tag "$IMAGE_NAME" \
    --volume "$(npm config get cache):/npm-cache" .
  npx vitest run test/packaging/image/ "$@"
}

case "${1-}" in
  --inside)
    shift
    build_and_test "$@"
    ;;
  *)
    IMAGE_MISSING=$(missing)
    export IMAGE_MISSING
    [ -z "$IMAGE_MISSING" ] || exec npx vitest run test/packaging/image/ "$@"
    folder=$(mktemp --directory)
    trap 'rm --recursive --force "$folder"' EXIT
    "${unshare[@]}" "$0" --inside "$folder" "$@"
    ;;
esac
