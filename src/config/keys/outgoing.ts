// The keys of how the node fetches what it plays: whom it may connect to, for how long it waits, from which addresses.

import { choiceKey, flagKey, integerKey, listKey, type ReadKey, secretKey, textKey } from "./key.ts";
import { addressBlockType, addressType, sourceNameType } from "./value-type.ts";

const TIMEOUT_RANGE = { unit: "milliseconds", defaultValue: 3000, min: 1, max: 600_000 } as const;
/** The number of attempts that Lavalink's `retryLimit: -1` stands for. */
const RETRIES_DEFAULT = 10;

export function outgoingKeys(read: ReadKey) {
  return {
    network: {
      /** CIDR blocks that connections are allowed to although they are private. */
      allow: read(
        listKey("tonearm.network.allow", {
          meaning:
            "Private, loopback, link-local or own address blocks the node may connect to. All others of that " +
            "kind are refused.",
          defaultValue: [],
          type: addressBlockType,
        }),
      ),
    },
    proxy: proxyKeys(read),
    timeouts: timeoutKeys(read),
    routePlanner: routePlannerKeys(read),
  };
}

/** Proxy of all outgoing HTTP. */
function proxyKeys(read: ReadKey) {
  return {
    /** Empty: none. */
    host: read(
      textKey("lavalink.server.httpConfig.proxyHost", {
        meaning: "HTTP proxy for outgoing requests, including those of plugins.",
        defaultValue: "",
        isPrivate: true,
      }),
    ),
    port: read(
      integerKey("lavalink.server.httpConfig.proxyPort", {
        meaning: "Port of the proxy.",
        defaultValue: 3128,
        min: 1,
        max: 65535,
      }),
    ),
    /** Empty: none. */
    user: read(
      textKey("lavalink.server.httpConfig.proxyUser", {
        meaning: "User name for the proxy.",
        defaultValue: "",
        isPrivate: true,
      }),
    ),
    password: read(
      secretKey("lavalink.server.httpConfig.proxyPassword", {
        meaning: "Password for the proxy.",
        defaultNote: "none",
        example: "secret",
      }),
    ),
  };
}

function timeoutKeys(read: ReadKey) {
  return {
    connectTimeoutMs: read(
      integerKey("lavalink.server.timeouts.connectTimeoutMs", {
        meaning: "Timeout for connecting to a media server.",
        ...TIMEOUT_RANGE,
      }),
    ),
    /** Longest silence of a server before the connection counts as stalled and is reopened. */
    socketTimeoutMs: read(
      integerKey("lavalink.server.timeouts.socketTimeoutMs", {
        meaning: "Silence of a media server after which the connection counts as stalled and is reopened.",
        ...TIMEOUT_RANGE,
      }),
    ),
  };
}

/** Address rotation. */
function routePlannerKeys(read: ReadKey) {
  return {
    /** CIDR blocks to rotate through; empty: no route planner. */
    ipBlocks: read(
      listKey("lavalink.server.ratelimit.ipBlocks", {
        meaning:
          "Address blocks to rotate requests through, all of one IP version. Empty: off. See " +
          "docs/reference/route-planner.md for the system set-up.",
        defaultValue: [],
        type: addressBlockType,
      }),
    ),
    excludedIps: read(
      listKey("lavalink.server.ratelimit.excludedIps", {
        meaning: "Addresses in these blocks that are not used.",
        defaultValue: [],
        type: addressType,
        misspeltVariables: ["LAVALINK_SERVER_RATELIMIT_EXCLUDE_IPS"],
      }),
    ),
    strategy: read(
      choiceKey("lavalink.server.ratelimit.strategy", {
        meaning:
          "How the next address is chosen. RotateOnBan: the next after a ban. LoadBalance: random per " +
          "request. NanoSwitch: a new one every nanosecond; needs a /64 of IPv6. RotatingNanoSwitch: the " +
          "same within one /64, and the next /64 after a ban.",
        names: ["RotateOnBan", "LoadBalance", "NanoSwitch", "RotatingNanoSwitch"],
        defaultValue: "RotateOnBan",
      }),
    ),
    isTriggeredBySearch: read(
      flagKey("lavalink.server.ratelimit.searchTriggersFail", {
        meaning: "A refused search marks its address as failing.",
        defaultValue: true,
        misspeltVariables: ["LAVALINK_SERVER_RATELIMIT_SEARCH_TRIGGERS_FAIK"],
      }),
    ),
    /** How often a refused request is sent again; undefined: without end. */
    retriesMax: retriesMaxOf(
      read(
        integerKey("lavalink.server.ratelimit.retryLimit", {
          meaning: "Retries of a refused request, each from another address. -1: 10; 0: for a minute.",
          defaultValue: -1,
          min: -1,
          max: 1_000_000,
        }),
      ),
    ),
    /** The sources whose requests are sent from these addresses. */
    sources: read(
      listKey("tonearm.routePlanner.sources", {
        meaning: "Sources that use the addresses of lavalink.server.ratelimit: http, and sources of plugins.",
        defaultValue: ["http", "youtube"],
        type: sourceNameType,
      }),
    ),
  };
}

function retriesMaxOf(retryLimit: number): number | undefined {
  const limitOrEndless = retryLimit === 0 ? undefined : retryLimit;
  return retryLimit === -1 ? RETRIES_DEFAULT : limitOrEndless;
}
