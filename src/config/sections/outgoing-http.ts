// `lavalink.server.httpConfig` and `lavalink.server.timeouts`: how the node fetches what it plays.

import { integerKey, secretKey, textKey } from "../key.ts";
import type { NodeConfig } from "../node-config.ts";
import { Secret } from "../secret.ts";
import { defineSection, type SectionValues } from "../section.ts";

const TIMEOUT_RANGE = { defaultValue: 3000, min: 1, max: 600_000 } as const;

export const httpConfigSection = defineSection("lavalink.server.httpConfig", {
  proxyHost: textKey({ meaning: "HTTP proxy of the http source. Empty: none.", defaultValue: "" }),
  proxyPort: integerKey({ meaning: "Port of the proxy.", defaultValue: 3128, min: 1, max: 65535 }),
  proxyUser: textKey({ meaning: "User name for the proxy. Empty: none.", defaultValue: "" }),
  proxyPassword: secretKey({ meaning: "Password for the proxy.", defaultNote: "none", example: "secret" }),
});

export const timeoutsSection = defineSection("lavalink.server.timeouts", {
  connectTimeoutMs: integerKey({
    meaning: "Longest wait for a connection to a media server.",
    unit: "milliseconds",
    ...TIMEOUT_RANGE,
  }),
  connectionRequestTimeoutMs: integerKey({
    meaning: "Longest wait for a free connection of the pool.",
    unit: "milliseconds",
    ...TIMEOUT_RANGE,
    noEffect: "no request waits for a free connection",
  }),
  socketTimeoutMs: integerKey({
    meaning: "Longest silence of a media server before the connection counts as stalled and is reopened.",
    unit: "milliseconds",
    ...TIMEOUT_RANGE,
  }),
});

export function httpOf(
  proxy: SectionValues<typeof httpConfigSection>,
  timeouts: SectionValues<typeof timeoutsSection>,
): NodeConfig["http"] {
  return {
    connectTimeoutMs: timeouts.connectTimeoutMs,
    socketTimeoutMs: timeouts.socketTimeoutMs,
    proxyUrl: proxyUrlOf(proxy),
  };
}

function proxyUrlOf(proxy: SectionValues<typeof httpConfigSection>): Secret | undefined {
  if (proxy.proxyHost === "") return undefined;
  const host = proxy.proxyHost.includes(":") ? `[${proxy.proxyHost}]` : proxy.proxyHost;
  const password = encodeURIComponent(proxy.proxyPassword?.reveal() ?? "");
  const user = proxy.proxyUser === "" ? "" : `${encodeURIComponent(proxy.proxyUser)}:${password}@`;
  return new Secret(`http://${user}${host}:${proxy.proxyPort}`);
}
