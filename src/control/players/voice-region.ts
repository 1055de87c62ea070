// The voice region of a player, from the host name of its voice server, for operators. Main thread.

const HOST_LENGTH_MAX = 253;
/** Discord numbers its servers: `rotterdam9032`, `us-east-1`, `c-fra07-1a2b3c4d`. */
const DISCORD_HOST = /^(?:c-([a-z]+)\d*-[a-z0-9]+|([a-z][a-z-]*?)-?\d*)\.discord\.(?:media|gg)$/;

/**
 * The name of the region, `rotterdam`, `us-east` or `fra`; for a host that is not named as Discord does, the host
 * without its port. Null for a text that has no host. Never more of `endpoint`, which comes from a client.
 */
export function voiceRegion(endpoint: string): string | null {
  const authority = endpoint.trim().replace(/^[a-z][a-z0-9+.-]*:\/\//i, "");
  const host = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d*)?(?:[/?#]|$)/i.exec(authority)?.[1]?.toLowerCase();
  if (host === undefined || host.length > HOST_LENGTH_MAX) return null;
  const [, airport, region] = DISCORD_HOST.exec(host) ?? [];
  return airport ?? region ?? host;
}
