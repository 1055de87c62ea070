// Voice gateways chosen by a client that flood, hang, lie, or do not read: one case for each behaviour of
// lab/discord/hostile-gateway.ts. A client passes them to the node as it would pass on Discord's.

import { HOSTILE_BEHAVIOURS, type HostileBehaviour, startHostileGateway } from "../../discord/hostile-gateway.ts";
import { sleep } from "../../sleep.ts";
import { summary } from "../harness/attack.ts";
import type { HostileCase, HostileLayer } from "../harness/hostile-case.ts";

const PLAYERS = 3;
const CHANNEL_ID = "77";
const QUICK: readonly HostileBehaviour[] = ["heartbeat-requests-1mb", "users-1mb"];

function joins(behaviour: HostileBehaviour): HostileCase {
  return {
    name: `gateway-${behaviour}`,
    what: `${PLAYERS} players are sent to a voice gateway of the kind ${behaviour}`,
    isQuick: QUICK.includes(behaviour),
    arm: async (attack) => {
      const gateway = await startHostileGateway({ behaviour, channelId: CHANNEL_ID });
      attack.onClose(() => void gateway.close());
      const voice = { token: "token", endpoint: gateway.endpoint, sessionId: "session", channelId: CHANNEL_ID };
      return async () => {
        const bot = await attack.session();
        const guildIds = Array.from({ length: PLAYERS }, (_, index) =>
          String(670_000_000_000_000_000n + BigInt(index)),
        );
        const answers = guildIds.map((guildId) => attack.patch(bot, guildId, { voice }));
        const [statuses] = await Promise.all([Promise.all(answers), sleep(attack.seconds * 1000)]);
        const closes = bot.events("WebSocketClosedEvent").map(({ code }) => String(code));
        const closed = summary(closes) || "none";
        return `PATCH: ${summary(statuses)}; closed: ${closed}; ${gateway.connectionCount} connections`;
      };
    },
  };
}

export const voiceGateways: HostileLayer = { layer: "voice", cases: HOSTILE_BEHAVIOURS.map(joins) };
