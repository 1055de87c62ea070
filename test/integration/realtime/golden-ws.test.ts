// Runs every recorded sequence that needs audio or voice against a whole node, each with a separate fake Discord.
// Compares what does not depend on time: answers, events in their order, when the client is reported as connected.
// Where the recording waited a second, the test waits for half a second of audio.

import { setImmediate as nextIteration } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeDiscord } from "../../../lab/discord/fake-discord.ts";
import type { IssuedVoice } from "../../../lab/discord/voice-session.ts";
import type { Bot } from "../../../lab/test-environment/bot.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { type Parsed, readRecorded } from "../../support/golden.ts";
import { GoldenSite } from "../../support/golden-site.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";
import { NOT_WALKED_SEQUENCES, SEQUENCE_DIFFERENCES } from "../../unit/control/api/golden-differences.ts";

const FRAMES_BETWEEN_STEPS = 25;
/** Maximum distance of a position from the last requested one. */
const POSITION_RANGE_MS = 9_000;

/** Faults of the voice server that are active from the beginning. */
const FAULTS: Readonly<Record<string, (discord: FakeDiscord) => void>> = {
  "voice-http-503": ({ faults }) => faults.add("upgrade", { kind: "status", status: 503 }, Number.POSITIVE_INFINITY),
  "voice-identify-4006": ({ faults }) => faults.add("ready", { kind: "close", code: 4006, reason: "test" }, 9),
  "voice-no-session-description": ({ faults }) => faults.add("sessionDescription", { kind: "withhold" }, 9),
};

/** Connected, but without the key to say anything. */
const SILENT: ReadonlySet<string> = new Set(["voice-no-session-description"]);

const isSequence = ({ sequence }: Parsed): boolean => sequence !== undefined;
const NAMES: readonly string[] = readRecorded("ws.jsonl")
  .filter(isSequence)
  .map(({ name }) => name);
const WALKED = NAMES.filter((name) => !NOT_WALKED_SEQUENCES.has(name));

let site: GoldenSite;
let env: TestEnvironment;
let sequences: ReadonlyMap<string, Parsed>;

beforeAll(async () => {
  site = await GoldenSite.open();
  env = await startTestEnvironment({
    config: { LAVALINK_SERVER_SOURCES_LOCAL: "true", TONEARM_LOCAL_ROOTS: site.folder },
  });
  const recorded = readRecorded("ws.jsonl", site.folder).filter(isSequence);
  sequences = new Map(recorded.map(({ name, sequence }) => [name, sequence]));
});
afterAll(async () => {
  await env.close();
  await site.close();
});

describe("every recorded sequence with audio or voice", () => {
  it.concurrent.each(WALKED)("%s", async (name) => {
    const walk = await Walk.start(name);
    try {
      for (const step of sequences.get(name)) await walk.take(step);
    } finally {
      await walk.close();
    }
  });

  it("names no sequence that is not there", () => {
    const named = [...NOT_WALKED_SEQUENCES.keys(), ...SEQUENCE_DIFFERENCES.flatMap(({ names }) => names)];
    expect(named.filter((name) => !NAMES.includes(name))).toEqual([]);
  });
});

class Walk {
  readonly #name: string;
  readonly #discord: FakeDiscord;
  #bot: Bot;
  #guildId = "";
  /** By what the recording calls them: token and channel. */
  readonly #voices = new Map<string, IssuedVoice>();
  /** Positions in the song that were requested so far. */
  readonly #anchorsMs: number[] = [0];
  /** The node has taken voice data. */
  #isInVoice = false;
  /** The recorded player was audible after the last step. */
  #isPlaying = false;

  private constructor(name: string, discord: FakeDiscord, bot: Bot) {
    this.#name = name;
    this.#discord = discord;
    this.#bot = bot;
  }

  static async start(name: string): Promise<Walk> {
    const discord = await FakeDiscord.start();
    FAULTS[name]?.(discord);
    const bot = await env.connectBot();
    if (name.startsWith("resume-")) await bot.request("PATCH", `/v4/sessions/${bot.sessionId}`, { resuming: true });
    return new Walk(name, discord, bot);
  }

  async close(): Promise<void> {
    this.#bot.close();
    await this.#discord.close();
  }

  async take(step: Parsed): Promise<void> {
    if (step.kind === "http") await this.#playMore();
    if (step.kind === "http" || step.kind === "get") await this.#ask(step.http);
    else if (step.kind === "fakevoice") await this.#disturb(step.cmd);
    else if (step.kind === "rtp") await this.#compareAudio(step.stats);
    else if (step.kind === "ws") await this.#compareMessages(step.msgs);
    else if (step.kind === "resumed") await this.#resume(step.msgs);
    else if (step.kind === "rtp-after-ws-drop") await this.#drop();
  }

  get #difference() {
    return SEQUENCE_DIFFERENCES.find(({ names }) => names.includes(this.#name));
  }

  async #ask({ request, response }: Parsed): Promise<void> {
    this.#guildId = /\/players\/(\d+)/.exec(request.path)?.[1] ?? "";
    const body = request.body === null ? undefined : this.#translatedBody(request.body);
    const expected = this.#difference?.answer?.(request, response) ?? response;
    if (body?.voice === undefined && expected.json?.state !== undefined) await this.#untilReported(expected.json.state);
    const path = request.path.replace("{session}", this.#bot.sessionId);
    const answer = await this.#bot.request<Parsed>(request.method, path, body);
    expect(answer.status).toBe(expected.status);
    if (expected.json?.guildId !== undefined) this.#comparePlayer(answer.body, expected.json);
    else if (expected.status >= 400) expect(answer.body).toMatchObject({ message: expected.json.message });
    const { track, state, paused } = expected.json ?? {};
    if (body?.voice !== undefined) this.#isInVoice = state !== undefined;
    this.#isPlaying = track != null && state.connected && !paused && !SILENT.has(this.#name);
  }

  /** The recorded body with the current voice data and addresses; remembers the positions it requests. */
  #translatedBody(text: string): Parsed {
    const body = JSON.parse(site.translate(text.replaceAll("{run}", site.folder)));
    if (typeof body.position === "number") this.#anchorsMs.push(Math.max(0, body.position));
    if (body.voice === undefined) return body;
    const { token, channelId } = body.voice;
    const key = `${token} ${channelId}`;
    const ids = { guildId: this.#guildId, userId: this.#bot.userId, channelId };
    const voice = this.#voices.get(key) ?? this.#discord.issueVoice({ ...ids, daveVersion: 0 });
    this.#voices.set(key, voice);
    return { ...body, voice };
  }

  async #disturb(command: string): Promise<void> {
    await this.#playMore();
    const code = /code=(\d+)/.exec(command)?.[1];
    const session = this.#discord.session(this.#guildId);
    const entries = () => session.identifyCount + session.resumeCount;
    const [reported, entered] = [this.#bot.messages.length, entries()];
    if (code === undefined) session.terminate();
    else session.close(Number(code), "test");
    this.#isPlaying = false;
    // Else the next step could find the connection as it was before the node noticed.
    const isDown = () => reportsIn(this.#bot.messages.slice(reported)).some((line) => line !== "connected");
    await Promise.any([
      this.#bot.until(isDown, "the node to report the lost voice connection", 20_000),
      this.#discord.until(() => entries() > entered, "the node to come back", 20_000),
    ]);
  }

  async #playMore(): Promise<void> {
    if (!this.#isPlaying) return;
    const count = () => this.#discord.stats().total.audioFrames;
    const enough = count() + FRAMES_BETWEEN_STEPS;
    await this.#discord.until(() => count() >= enough, `${enough} frames`, 20_000);
  }

  /** The recording's steps were far enough apart for the report to reach the client before the next. */
  async #untilReported({ connected }: Parsed): Promise<void> {
    if (!this.#isInVoice || SILENT.has(this.#name)) return;
    const isReported = () => {
      const state = this.#bot.messages.findLast(({ op }) => op === "playerUpdate")?.state as Parsed;
      return state?.connected === connected;
    };
    await this.#bot.until(isReported, `connected: ${connected}`, 20_000);
    // A connection that is being resumed is reported only when that takes long; until then the player answers as it is.
    const path = `/v4/sessions/${this.#bot.sessionId}/players/${this.#guildId}`;
    const player = async () => (await this.#bot.request<Parsed>("GET", path)).body;
    for (const endMs = performance.now() + 20_000; performance.now() < endMs; ) {
      if ((await player()).state?.connected === connected) return;
    }
  }

  #comparePlayer(actual: Parsed, recorded: Parsed): void {
    const { state, track, voice: _, ...rest } = recorded;
    expect(actual).toMatchObject(JSON.parse(site.translate(JSON.stringify(rest))));
    if (track === null) expect(actual.track).toBeNull();
    else if (track !== undefined)
      expect(actual.track.info).toMatchObject(withoutPosition(JSON.parse(site.translate(JSON.stringify(track.info)))));
    if (track === undefined) return;
    expect(actual.state.connected).toBe(state.connected);
    expect(actual.state.ping >= 0).toBe(state.connected);
    if (track === null) expect(actual.state.position).toBe(0);
    else this.#comparePosition(actual.state.position, state.position);
  }

  /** Both are after the same requested position. A recorded seek was not finished yet when it was answered. */
  #comparePosition(actual: number, recorded: number): void {
    const last = this.#anchorsMs.at(-1) ?? 0;
    const anchors = [last, ...this.#anchorsMs.filter((anchor) => anchor <= recorded)];
    const fits = anchors.some((anchor) => actual >= Math.min(anchor, 30_048) && actual <= anchor + POSITION_RANGE_MS);
    expect([actual, fits]).toEqual([actual, true]);
  }

  async #compareMessages(recorded: readonly [number, Parsed][]): Promise<void> {
    const reported = this.#difference?.reported ?? reportsIn(recorded.map(([, message]) => message));
    const ours = () => reportsIn(this.#bot.messages);
    // A missing event shows in the comparison.
    await this.#bot.until(() => ours().length >= reported.length, "all messages", 15_000).catch(() => undefined);
    await this.#bot.ping();
    expect(ours()).toEqual(reported);
    const events = this.#bot.messages.filter(({ op }) => op === "event");
    for (const { guildId } of events) expect(guildId).toBe(this.#guildId);
    for (const { exception } of events.filter(({ type }) => type === "TrackExceptionEvent")) {
      expect(exception).toEqual(EXCEPTION);
    }
    if (this.#difference?.reported === undefined) {
      const titles = recorded.flatMap(([, { track }]) => track?.info?.title ?? []);
      expect((events as Parsed[]).flatMap(({ track }) => track?.info?.title ?? [])).toEqual(titles);
    }
  }

  /** All sent audio arrived whole, and nothing was sent that Discord would refuse. */
  async #compareAudio(recorded: Parsed): Promise<void> {
    // Data received over UDP may be processed after data received over TCP.
    for (let count = 0; count < 5; count++) await nextIteration();
    await this.#discord.arrived();
    const { lostPackets, audioFrames } = this.#discord.stats().total;
    expect(lostPackets).toBe(0);
    if (Object.keys(recorded).length === 0 && this.#difference === undefined) expect(audioFrames).toBe(0);
    this.#discord.assertClean();
  }

  async #resume(recorded: readonly [number, Parsed][]): Promise<void> {
    await this.#playMore();
    this.#bot.terminate();
    await this.#discord.until(() => this.#discord.session(this.#guildId).speaking === 0, "silence");
    this.#bot = await env.connectBot({ sessionId: this.#bot.sessionId });
    await this.#compareMessages(recorded);
    expect(this.#bot.messages[0]).toMatchObject({ op: "ready", resumed: true });
  }

  async #drop(): Promise<void> {
    this.#bot.terminate();
    await this.#discord.until(
      () => !this.#discord.session(this.#guildId).isConnected,
      "the end of the voice connection",
    );
  }
}

const EXCEPTION = {
  message: expect.stringMatching(/./),
  severity: expect.stringMatching(/^(?:common|suspicious|fault)$/),
  cause: expect.stringMatching(/./),
  causeStackTrace: expect.stringMatching(/./),
};

function withoutPosition({ position: _, ...info }: Parsed): Parsed {
  return info;
}

/** Events in their order, and `connected` or `disconnected` whenever that changes. */
function reportsIn(messages: readonly Parsed[]): string[] {
  const reported: string[] = [];
  let wasConnected: boolean | undefined;
  for (const { op, type, reason, code, byRemote, state } of messages) {
    if (op === "event") reported.push([type, code ?? reason, byRemote].filter((part) => part !== undefined).join(" "));
    if (op !== "playerUpdate" || state.connected === wasConnected) continue;
    reported.push(state.connected ? "connected" : "disconnected");
    wasConnected = state.connected;
  }
  return reported;
}
