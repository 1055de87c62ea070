#!/usr/bin/env bash
# Runs the tests of this folder in separate network namespaces: the tests, the site and the fake Discord in one, the
# node in the other (`ip netns exec node …`), a veth pair between them, and address blocks routed to the node as a
# provider does. Host names, mounts and processes are in separate namespaces too, so the kernel removes everything when
# the last process ends, however it ends; nothing outside is changed.

set -euo pipefail

# Private addresses; routed-node.ts has the same.
site_ipv4=10.77.0.1 site_ipv6=fd77::1
node_ipv4=10.77.0.2 node_ipv6=fd77::2
blocks_ipv4=(10.78.0.0/24)
blocks_ipv6=(fd78::/64 fd79::/48)

unshare=(unshare --net --mount --pid --fork --kill-child --mount-proc)
# Root within the namespace is enough, where the system allows that to users.
[ "$(id --user)" -eq 0 ] || unshare+=(--map-root-user)

# Runs within the new namespaces: creates the second network and the route to it.
set_up() {
  # Hides the existing files: `ip netns` keeps its names in /run/netns.
  mount -t tmpfs tmpfs /run
  printf '%s\n' "127.0.0.1 localhost" "$site_ipv4 both.test four.test" "$site_ipv6 both.test" >/run/hosts
  mount --bind /run/hosts /etc/hosts

  ip netns add node
  ip link add to-node type veth peer name to-site netns node
  # Duplicate address detection would delay the addresses by a second.
  ip address add "$site_ipv4/24" dev to-node
  ip address add "$site_ipv6/64" dev to-node nodad
  ip -netns node address add "$node_ipv4/24" dev to-site
  ip -netns node address add "$node_ipv6/64" dev to-site nodad
  for link in lo to-node; do ip link set "$link" up; done
  for link in lo to-site; do ip -netns node link set "$link" up; done

  # The set-up that docs/reference/route-planner.md asks of operators.
  ip netns exec node sh -c 'echo 1 >/proc/sys/net/ipv6/ip_nonlocal_bind'
  for block in "${blocks_ipv4[@]}"; do
    ip -netns node route add local "$block" dev lo
    ip route add "$block" via "$node_ipv4"
  done
  for block in "${blocks_ipv6[@]}"; do
    ip -netns node route add local "$block" dev lo
    ip route add "$block" via "$node_ipv6"
  done
}

# Prints why the tests cannot run here; nothing when they can.
missing() {
  local tool problem
  for tool in unshare ip; do
    command -v "$tool" >/dev/null || { printf 'there is no %s\n' "$tool" && return; }
  done
  problem=$("${unshare[@]}" "$0" --set-up true 2>&1) ||
    printf 'network namespaces cannot be made here: %s\n' "${problem//$'\n'/; }"
}

case "${1-}" in
  --set-up)
    shift
    set_up
    exec "$@"
    ;;
  *)
    NETNS_MISSING=$(missing)
    export NETNS_MISSING
    [ -z "$NETNS_MISSING" ] || exec npx vitest run test/integration/netns/ "$@"
    exec "${unshare[@]}" "$0" --set-up npx vitest run test/integration/netns/ "$@"
    ;;
esac
