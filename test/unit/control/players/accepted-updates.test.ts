// Whatever clients may ask of a player is read again after a restart: bodies as the API gets them, a player that carries
// them out, and the texts that a store keeps of it.

import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { UNLIMITED } from "../../../../src/control/access/identity.ts";
import { parsePlayerUpdate } from "../../../../src/control/api/parse-player-update.ts";
import { playerBody, readBody } from "../../../../src/control/api/request-bodies.ts";
import { DeadlyTracks } from "../../../../src/control/players/deadly-tracks.ts";
import { Player } from "../../../../src/control/players/player.ts";
import type { PlayerIntent } from "../../../../src/control/players/player-intent.ts";
import type { PlayerUpdate } from "../../../../src/control/players/player-update.ts";
import { SharedIncidents } from "../../../../src/control/players/shared-incidents.ts";
import { storedPlayerOf, storedTracksOf } from "../../../../src/control/players/stored-player.ts";
import { UpdateTimer } from "../../../../src/control/players/update-timer.ts";
import { readRecords } from "../../../../src/control/state/read-records.ts";
import { NodeError } from "../../../../src/errors.ts";
import { stringifyJson } from "../../../../src/lib/json.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { writeEncodedTrack } from "../../../../src/track/encoded-track.ts";
import type { TrackDetails } from "../../../../src/track/track-details.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeWorkers, settle } from "../../../support/fake-workers.ts";
import { fuzzSeed } from "../../../support/fuzz-seed.ts";
import { randomFiltersBody } from "../../../support/random-filters.ts";

const SESSION = stringifyJson({
  ...{ userId: "1", clientName: null, version: "4", owner: null, account: "a" },
  ...{ timeout: 60, resumeKey: null, deadlineEpochMs: null },
});
const TEXT_BYTES_MAX = 65_535;

/** The texts that a store keeps of a player. */
function textsOf(snapshot: PlayerIntent): { readonly player: string; readonly track: string | undefined } {
  const { track } = snapshot;
  return { player: stringifyJson(storedPlayerOf(snapshot)), track: track && stringifyJson(storedTracksOf(track)) };
}

/** What the next process makes of them. */
function readTexts({ player, track }: ReturnType<typeof textsOf>): PlayerIntent | undefined {
  const records = [
    { key: "player/s/7", value: player },
    { key: "session/s", value: SESSION },
    ...(track === undefined ? [] : [{ key: "track/s/7", value: track }]),
  ];
  return readRecords(records).sessions[0]?.players[0]?.intent;
}

const MAX = 9_223_372_036_854_775_807n;
const LENGTHS = [0n, 1n, -1n, -1_000_000n, 60_000n, 9_007_199_254_740_993n, MAX, -MAX - 1n];
const CHARACTERS = ["a", "\u0000", "\u0001", '"', "\\", "\u007f", "ä", "\ud800", "\udfff", "\u{1f3b5}", "\u2028"];

class Requests {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  body(): string {
    const body: Record<string, unknown> = {};
    if (this.#isSo(0.7)) body.track = this.#track();
    if (this.#isSo(0.3)) body.position = this.#long();
    if (this.#isSo(0.3)) body.endTime = this.#pick([null, 1, this.#long()]);
    if (this.#isSo(0.3)) body.volume = this.#pick([0, -1, 1000, 1001, 2 ** 31 - 1, 55]);
    if (this.#isSo(0.3)) body.paused = this.#isSo(0.5);
    if (this.#isSo(0.3)) body.filters = randomFiltersBody(this.#random);
    if (this.#isSo(0.4)) body.voice = this.#voice();
    return stringifyJson(body);
  }

  /** Of a track that is as large as the format lets it be when `isLargest`. */
  encoded(sourceName: string, details: (text: () => string) => TrackDetails, isLargest = false): string {
    const text = () => this.#text(isLargest);
    const info = {
      ...{ title: text(), author: text(), identifier: text(), uri: this.#orNull(text), isrc: this.#orNull(text) },
      ...{ artworkUrl: this.#orNull(text), length: this.#pick(LENGTHS), position: this.#pick([0n, 5n, -1n, MAX]) },
      ...{ isStream: this.#isSo(0.2), isSeekable: true, sourceName },
    };
    return writeEncodedTrack(info, details(text));
  }

  #track(): unknown {
    const userData = this.#isSo(0.4) ? { userData: this.#userData() } : {};
    if (this.#isSo(0.1)) return { ...userData, encoded: null };
    if (this.#isSo(0.1)) return userData;
    const [sourceName, details] = this.#pick(SOURCES);
    return { ...userData, encoded: this.encoded(sourceName, details) };
  }

  #userData(): unknown {
    if (this.#isSo(0.05)) return { text: this.#pick(CHARACTERS).repeat(85_000) };
    let nested: unknown = this.#pick([1n << 80n, -(1n << 63n), 0.1, 1e308, this.#text(), null, true]);
    for (let depth = this.#pick([0, 1, 30, 150]); depth > 0; depth--) nested = this.#isSo(0.5) ? [nested] : { nested };
    return { [this.#text()]: nested, ["__proto__"]: [this.#text()], list: Array.from({ length: 50 }, () => 1) };
  }

  #voice(): object {
    const channelId = this.#pick([undefined, "1", "18446744073709551615"]);
    const endpoint = this.#pick(["a.example:443", "a.example", "[::1]:80", "127.0.0.1"]);
    return { token: `t${this.#text()}`, endpoint, sessionId: `s${this.#text()}`, channelId };
  }

  #text(isLargest = false): string {
    const character = this.#pick(CHARACTERS);
    if (isLargest || this.#isSo(0.02)) return (isLargest ? "\u0001" : character).repeat(TEXT_BYTES_MAX);
    return character + this.#pick(["", "text", this.#pick(CHARACTERS)]) + this.#pick(CHARACTERS);
  }

  #orNull(text: () => string): string | null {
    return this.#isSo(0.7) ? text() : null;
  }

  #long(): bigint {
    return this.#pick([0n, 1n, 90_000n, -5n, 9_007_199_254_740_993n, MAX, -MAX]);
  }

  #isSo(share: number): boolean {
    return this.#random() < share;
  }

  #pick<Choice>(choices: readonly Choice[]): Choice {
    return choices[Math.floor(this.#random() * choices.length)] as Choice; // there is one
  }
}

type DetailsOf = (text: () => string) => TrackDetails;

const album: DetailsOf = (text) => ({
  ...{ kind: "album", albumName: text(), albumUrl: text(), artistUrl: text(), artistArtworkUrl: text() },
  ...{ previewUrl: text(), isPreview: true },
});
const probe: DetailsOf = (text) => ({ kind: "probe", probeInfo: `m3u|${text()}` });
const none: DetailsOf = () => ({ kind: "none" });

/** One of each layout of the format, and those whose name means more. */
const SOURCES: readonly (readonly [string, DetailsOf])[] = [
  ["http", probe],
  ["local", probe],
  ["youtube", none],
  ["youtube", album],
  ["soundcloud", none],
  ["spotify", none],
  ["spotify", album],
  ["deezer", album],
  ["tumblr", (text) => ({ kind: "mediaUrl", mediaUrl: text() })],
  ["elsewhere", (text) => ({ kind: "unknown", bytes: new TextEncoder().encode(text()) })],
];

function createPlayer(): { readonly player: Player; readonly workers: FakeWorkers; readonly clock: FakeClock } {
  const clock = new FakeClock();
  const workers = new FakeWorkers(clock);
  const player = new Player({
    ...{ guildId: "1", userId: "42", sessionId: "session", account: "address test", workers, clock },
    sink: { send: () => undefined },
    tracks: {
      load: () => Promise.reject(new Error("no loads in this test")),
      playableInput: () => ({ kind: "http", url: "http://media.example/1", container: "mp3" }),
    },
    updateTimer: new UpdateTimer({ clock, intervalMs: 5000 }),
    logger: silentLogger,
    deadlyTracks: new DeadlyTracks(),
    sharedIncidents: new SharedIncidents({ clock, logger: silentLogger }),
    voiceConnectTimeoutMs: 5000,
  });
  return { player, workers, clock };
}

/** Undefined: the API refuses it. */
function parse(text: string): PlayerUpdate | undefined {
  const bounds = { disabledFilters: new Set<string>(), moduleFilters: undefined, owner: undefined, limits: UNLIMITED };
  try {
    return parsePlayerUpdate(readBody(playerBody, { contentType: "application/json", text }), bounds);
  } catch (error) {
    if (error instanceof NodeError) return undefined;
    throw error;
  }
}

async function apply(update: PlayerUpdate, { player, workers }: ReturnType<typeof createPlayer>): Promise<void> {
  const before = workers.all("connectVoice").length;
  const applied = player.update(update, { isReplacing: true });
  await settle();
  if (workers.all("connectVoice").length > before) await workers.reply("connectVoice", { isConnected: true });
  await applied;
}

describe("whatever a client may ask of a player is read again", () => {
  test("bodies of any kind, one after the other", async () => {
    const seed = fuzzSeed();
    const random = seededRandom(seed);
    const requests = new Requests(random);
    let acceptedCount = 0;
    let side = createPlayer();
    for (let count = 0; count < 600; count++) {
      if (random() < 0.3) side = createPlayer();
      const update = parse(requests.body());
      if (update === undefined) continue;
      acceptedCount++;
      await apply(update, side);
      side.clock.advance(random() * 3000);
      const snapshot = side.player.snapshot();
      expect(readTexts(textsOf(snapshot)), `seed ${seed}, body ${count}`).toEqual(snapshot);
    }
    expect(acceptedCount).toBeGreaterThan(200);
  });

  test.each(SOURCES)("the largest track of the source %s", async (sourceName, details) => {
    const encoded = new Requests(seededRandom(1)).encoded(sourceName, details, true);
    const update = parse(stringifyJson({ track: { encoded, userData: { text: "\u0001".repeat(250_000) } } }));
    if (update === undefined) throw new Error("the API has refused it");
    const side = createPlayer();
    await apply(update, side);
    const snapshot = side.player.snapshot();
    expect(readTexts(textsOf(snapshot))).toEqual(snapshot);
  });
});
