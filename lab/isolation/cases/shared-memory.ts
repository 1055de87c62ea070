// Memory and sessions that all clients share: one key stores, waits and sends bodies until no more is left.

import { encodeTrack, httpTrack } from "../../conformance/workbench/encoded-track.ts";
import { HANG } from "../../media-server/answer-plan.ts";
import { sleep } from "../../sleep.ts";
import { type Attack, summary } from "../harness/attack.ts";
import { beside } from "../harness/beside.ts";
import type { HostileCase, HostileLayer } from "../harness/hostile-case.ts";
import { manyTimes } from "./many-times.ts";

/** A session beyond the number that may wait. */
const WAITING = 1010;
/** Large ones first, and small ones into what they leave. */
const SIZES_BYTES = [250_000, 20_000, 2000];
/** So many refusals, and nothing of that size has room any more. */
const REFUSALS = 8;
const VICTIM = "777000000000000001";
const BODY_BYTES = 60_000;
const SENT_BYTES = 40_000;
/** Until the node has read large bodies. */
const ARRIVAL_MS = 1500;

/** The track never fails, as its site does not answer: a player without a track keeps nothing. */
function withUserData(attack: Attack, lengthBytes: number): object {
  const encoded = encodeTrack(
    httpTrack(
      attack.serve("a.mp3", () => HANG),
      { details: ["mp3"] },
    ),
  );
  return { track: { encoded, userData: { text: "u".repeat(lengthBytes) } }, paused: true };
}

function guild(index: number): string {
  return String(690_000_000_000_000_000n + BigInt(index));
}

/** An honest client that makes a new player with so much data each time. */
async function newPlayers(honest: Attack, lengthBytes: number) {
  const bot = await honest.session();
  const body = withUserData(honest, lengthBytes);
  return {
    expected: "200",
    honest: (number: number) => honest.patch(bot, guild(number), body),
  };
}

const keyMemory: HostileCase = {
  name: "key-memory",
  what: "a key stores userData of up to 250 kB with many players, in three sessions",
  node: "shared",
  seconds: 10,
  arm: async (attack) => {
    const twin = await newPlayers(attack.as("honest"), 3000);
    const greedy = attack.as("greedy");
    const bots = [await greedy.openSession(), await greedy.openSession(), await greedy.openSession()];
    const texts = SIZES_BYTES.map((sizeBytes) => JSON.stringify(withUserData(greedy, sizeBytes)));
    const strike = async () => {
      const answers: string[] = [];
      for (const [round, text] of texts.entries()) {
        let refusals = 0;
        await manyTimes(attack, 600, async (index) => {
          if (refusals >= REFUSALS) return;
          const answer = await greedy.patch(bots[index % bots.length]!, guild(1000 * round + index), text);
          if (answer !== "200") refusals += 1;
          answers.push(answer);
        });
      }
      await sleep(1500);
      return `PATCH: ${summary(answers)}`;
    };
    return () => beside(attack, { ...twin, strike });
  },
};

/** Opens a session that waits for its client from now on, and returns its id. */
async function leaveWaiting(client: Attack, userId: string): Promise<string> {
  const bot = await client.openSession({ userId });
  await client.answerTo("PATCH", `/v4/sessions/${bot.sessionId}`, { resuming: true, timeout: 60 });
  bot.terminate();
  return bot.sessionId;
}

const keyWaiting: HostileCase = {
  name: "key-waiting",
  what: "1,010 sessions that wait, opened with another key under the victim's User-Id",
  node: "shared",
  seconds: 35,
  arm: async (attack) => {
    const victims = [attack.as("honest"), attack];
    const waiting: { readonly victim: Attack; readonly sessionId: string }[] = [];
    for (const victim of victims) waiting.push({ victim, sessionId: await leaveWaiting(victim, VICTIM) });
    const greedy = attack.as("greedy");
    return async () => {
      const made = await manyTimes(attack, WAITING, () => leaveWaiting(greedy, VICTIM));
      if (made < WAITING) attack.delays.push(`there was only time for ${made} sessions of ${WAITING}`);
      const resumed: boolean[] = [];
      for (const { victim, sessionId } of waiting) {
        const bot = await victim.openSession({ userId: VICTIM, sessionId });
        resumed.push(bot.messages.find(({ op }) => op === "ready")?.resumed === true);
      }
      if (resumed.includes(false)) attack.problems.push("the session of an honest client that waited has ended");
      return `${made} sessions wait; the victims resume: ${resumed.join(", ")}`;
    };
  },
};

interface HalfBodies {
  readonly count: number;
  readonly head: string;
  readonly sentBytes: number;
  /** Then they are sent one after the other. */
  readonly pauseMs?: number;
}

/** Sends requests with a body that stops within it, over so many connections. */
async function halfBodies(client: Attack, { count, head, sentBytes, pauseMs = 0 }: HalfBodies): Promise<void> {
  const part = Buffer.alloc(sentBytes, "u");
  const width = pauseMs > 0 ? 1 : undefined;
  await manyTimes(
    client,
    count,
    async () => {
      const socket = await client.connect();
      socket.resume();
      await new Promise<void>((resolve) => {
        socket.once("close", () => resolve());
        socket.write(head);
        socket.write(part, () => resolve());
      });
      if (pauseMs > 0) await sleep(pauseMs);
    },
    width,
  );
}

const slowBodies: HostileCase = {
  name: "slow-bodies",
  what: "a key sends 1,200 bodies of 60 kB and stops within each of them",
  node: "shared",
  seconds: 12,
  arm: async (attack) => {
    const twin = await newPlayers(attack.as("honest"), SENT_BYTES);
    const greedy = attack.as("greedy", { localAddress: "127.0.0.5" });
    const bot = await greedy.session();
    const head =
      `PATCH /v4/sessions/${bot.sessionId}/players/1 HTTP/1.1\r\nHost: localhost\r\n` +
      `Authorization: ${greedy.password}\r\nContent-Type: application/json\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`;
    const strike = async () => {
      await halfBodies(greedy, { count: 1200, head, sentBytes: SENT_BYTES, pauseMs: 1 });
      await sleep(2000);
      return "1,200 halves of bodies";
    };
    return () => beside(attack, { ...twin, strike });
  },
};

const strangersBodies: HostileCase = {
  name: "slow-bodies-strange",
  what: "a stranger stops within 215 bodies of up to 4 MiB, to paths that are open to everybody",
  node: "shared",
  seconds: 8,
  arm: async (attack) => {
    const twin = await newPlayers(attack.as("honest"), SENT_BYTES);
    const stranger = attack.as("greedy", { localAddress: "127.0.0.6" });
    const strike = async () => {
      // Large ones first, as many as fit together, and small ones into what they leave.
      const bodies = [
        { path: "/v4/websocket", count: 7, sizeBytes: 4 * 2 ** 20 },
        { path: "/dashboard/login", count: 8, sizeBytes: 4 * 2 ** 20 },
        { path: "/dashboard/login", count: 200, sizeBytes: SENT_BYTES, pauseMs: 5 },
      ];
      for (const { path, count, sizeBytes, pauseMs } of bodies) {
        const head =
          `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
          `Content-Length: ${sizeBytes}\r\n\r\n`;
        await halfBodies(stranger, {
          count,
          head,
          sentBytes: sizeBytes - 1000,
          ...(pauseMs === undefined ? {} : { pauseMs }),
        });
        if (pauseMs === undefined) await sleep(ARRIVAL_MS);
      }
      await sleep(2000);
      return "215 bodies without their end";
    };
    return () => beside(attack, { ...twin, strike });
  },
};

export const sharedMemory: HostileLayer = {
  layer: "memory",
  cases: [keyMemory, keyWaiting, slowBodies, strangersBodies],
};
