// The verdict on players at the end of a run of the chaos lab.

import { expect, test } from "vitest";
import {
  type DoubleSending,
  doubleSendingLosses,
  type Ending,
  heardErrorMs,
  heardLosses,
  misplacedLosses,
  outcomeOf,
  refusedLosses,
} from "../../../../lab/chaos/verdict.ts";
import type { ViolationKind } from "../../../../lab/discord/violations.ts";
import { castOf } from "../../../../lab/restart/cast.ts";

const [PLAIN, PAUSED] = castOf(2, () => 0.5);
const VIEW = {
  guildId: PLAIN!.guildId,
  track: { encoded: "", info: {} },
  volume: 100,
  paused: false,
  state: { time: 1_000_000, position: 40_000, connected: true, ping: 1 },
};
const END = { op: "event", type: "TrackEndEvent" };

function ending(parts: Partial<Ending> = {}): Ending {
  const heard = { atMs: 500, number: 2000 };
  return { player: PLAIN!, view: VIEW, heard, isHeard: true, told: [], hasSession: true, ...parts };
}

const GONE = { view: undefined, isHeard: false } as const;

test("a player plays, or its client was told once", () => {
  expect(outcomeOf(ending())).toBe("plays");
  expect(outcomeOf(ending({ player: PAUSED!, isHeard: false }))).toBe("plays");
  expect(outcomeOf(ending({ ...GONE, told: [END] }))).toBe("told");
  expect(outcomeOf(ending({ ...GONE, told: [{ ...END, type: "WebSocketClosedEvent" }] }))).toBe("told");
  expect(outcomeOf(ending({ ...GONE, hasSession: false }))).toBe("told");
});

test.each([
  ["is silent", ending({ isHeard: false }), /does not play, and its client was told 0 times \(nothing\)/],
  ["is gone without a word", ending(GONE), /does not play/],
  ["is gone, and that was told twice", ending({ ...GONE, told: [END, END] }), /told 2 times/],
  ["plays although its end was told", ending({ told: [END] }), /plays, and its client was told 1 times/],
  ["was told a start again", ending({ told: [{ ...END, type: "TrackStartEvent" }] }), /\(TrackStartEvent\)/],
  ["is heard although it is paused", ending({ player: PAUSED! }), /is heard although paused/],
  ["is heard although REST does not know it", ending({ view: undefined, told: [END] }), /is heard without a track/],
])("a player that %s is a loss", (_, player, words) => {
  expect(outcomeOf(player)).toEqual({ loss: expect.stringMatching(words) });
});

test("what is heard is compared with the position that REST reports, at the time of the packet", () => {
  // Packet 2000 is at 40 s, and was heard 500 ms after the time of the report.
  const offsetMs = 1_000_000;
  expect(heardErrorMs(ending(), offsetMs)).toBe(-500);
  expect(heardErrorMs(ending({ player: PAUSED! }), offsetMs)).toBeUndefined();
  expect(heardLosses([ending()], offsetMs)).toEqual([]);
  expect(heardLosses([ending({ heard: { atMs: 500, number: 2076 } })], offsetMs)).toEqual([
    expect.stringContaining("heard 1020 ms from where REST says"),
  ]);
});

test("two streams of a guild at once are a loss, named with their machines", () => {
  const sender = { address: "127.0.0.1", port: 1 };
  const overlap: DoubleSending = {
    guildId: "5",
    userId: "6",
    fromMs: 1000,
    toMs: 1021,
    packets: 2,
    sender,
    olderSender: sender,
    machine: "audio-2",
    olderMachine: undefined,
  };
  expect(doubleSendingLosses([overlap, { ...overlap, toMs: 1020 }], 500)).toEqual([
    "guild 5 was sent to twice, 0.50 to 0.52 s: 2 packets of unknown beside audio-2",
  ]);
});

test("what Discord refuses is a loss, unless a machine that stands still causes it", () => {
  const losses = (kind: ViolationKind) => refusedLosses([{ kind, guildId: "5", detail: "why", atMs: 3500 }], 1000);
  expect([...losses("silence-missing"), ...losses("speaking-missing")]).toEqual([]);
  expect(losses("rtp-lost")).toEqual(["guild 5: Discord refuses rtp-lost at 2.5 s: why"]);
});

test("a machine that is a gateway only and sends is a loss", () => {
  const subjects = (["gateway", "audio", "both"] as const).map((role) => ({ name: role, role }));
  const sendings = ["audio", "both", undefined].map((machine) => ({ guildId: "1", machine, fromMs: 0 }));
  expect(misplacedLosses(sendings, subjects)).toEqual([]);
  const wrong = ["1", "1", "2"].map((guildId) => ({ guildId, machine: "gateway", fromMs: 0 }));
  expect(misplacedLosses([...sendings, ...wrong], subjects)).toEqual([
    "gateway sent for 2 guilds, though it has no role for that",
  ]);
});
