// `lavalink.server.ratelimit`: sending requests from changing addresses of the operator's own blocks.

import { choiceKey, flagKey, integerKey, listKey } from "../key.ts";
import type { NodeConfig } from "../node-config.ts";
import { defineSection, type SectionValues } from "../section.ts";
import { addressBlockType, addressType } from "../value-type.ts";

/** Lavalink's `retryLimit: -1` means the planner's own limit. */
const RETRIES_DEFAULT = 10;

const NO_PLANNER = "addresses are not rotated yet";

export const rateLimitSection = defineSection("lavalink.server.ratelimit", {
  ipBlocks: listKey({
    meaning: "Address blocks of this machine to send requests from in turn. Empty: off.",
    defaultValue: [],
    type: addressBlockType,
    noEffect: NO_PLANNER,
    isMissed: true,
  }),
  excludedIps: listKey({
    meaning: "Addresses in these blocks to leave out.",
    defaultValue: [],
    type: addressType,
    noEffect: NO_PLANNER,
    misspeltVariables: ["LAVALINK_SERVER_RATELIMIT_EXCLUDE_IPS"],
  }),
  strategy: choiceKey({
    meaning: "How the next address is chosen.",
    names: ["RotateOnBan", "LoadBalance", "NanoSwitch", "RotatingNanoSwitch"],
    defaultValue: "RotateOnBan",
    noEffect: NO_PLANNER,
  }),
  searchTriggersFail: flagKey({
    meaning: "Whether a refused search marks its address as failing.",
    defaultValue: true,
    noEffect: NO_PLANNER,
    misspeltVariables: ["LAVALINK_SERVER_RATELIMIT_SEARCH_TRIGGERS_FAIK"],
  }),
  retryLimit: integerKey({
    meaning: "Tries per request. -1: 10 tries; 0: without end.",
    defaultValue: -1,
    min: -1,
    max: 1_000_000,
    noEffect: NO_PLANNER,
  }),
});

export function routePlannerOf(values: SectionValues<typeof rateLimitSection>): NodeConfig["routePlanner"] {
  const { ipBlocks, excludedIps, strategy, searchTriggersFail, retryLimit } = values;
  const limitOrEndless = retryLimit === 0 ? undefined : retryLimit;
  return {
    ipBlocks,
    excludedIps,
    strategy,
    isTriggeredBySearch: searchTriggersFail,
    retriesMax: retryLimit === -1 ? RETRIES_DEFAULT : limitOrEndless,
  };
}
