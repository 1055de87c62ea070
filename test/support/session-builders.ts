// Sessions without a node: its statistics are made up.

import { UNLIMITED } from "../../src/control/access/identity.ts";
import type { PlayerUpdate } from "../../src/control/players/player-update.ts";
import { Sessions, type SessionsOptions } from "../../src/control/sessions/sessions.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { silentLogger } from "../../src/log/log.ts";
import { FakeSessionPlayer } from "./fake-session-player.ts";

/** Changes nothing. */
export const EMPTY_UPDATE: PlayerUpdate = {
  trackChange: undefined,
  userData: undefined,
  positionMs: undefined,
  endTimeMs: undefined,
  volume: undefined,
  isPaused: undefined,
  filters: undefined,
  voice: undefined,
};

type CreateSessionsOptions = Pick<SessionsOptions, "clock" | "createPlayer" | "onOpened" | "onEvent" | "recorder"> &
  Partial<Pick<SessionsOptions, "limitsOf" | "random" | "onDraining">>;

export function createSessions(options: CreateSessionsOptions): Sessions {
  return new Sessions({
    limitsOf: () => UNLIMITED,
    random: systemRandom,
    ...options,
    logger: silentLogger,
    readNodeStats: () => ({
      uptime: 5,
      memory: { free: 1, used: 2, allocated: 3, reservable: 4 },
      cpu: { cores: 1, systemLoad: 0, lavalinkLoad: 0 },
    }),
  });
}

/** Makes players for tests of the session around them, and adds each to `players`. */
export function playersInto(players: FakeSessionPlayer[]): SessionsOptions["createPlayer"] {
  return (options) => {
    const player = new FakeSessionPlayer(options);
    players.push(player);
    return player;
  };
}
