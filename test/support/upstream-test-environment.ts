// A whole node that plays from a web server whose every answer a test can choose, to listeners in any number of guilds.
// For the scenarios about upstream media.

import type { ReceivedFrame } from "../../lab/discord/listener.ts";
import { packetNumbers } from "../../lab/media-files/counted-song.ts";
import type { Answer } from "../../lab/media-server/answer-plan.ts";
import type { LoggedRequest } from "../../lab/media-server/media-server.ts";
import type { Bot, NodeMessage } from "../../lab/test-environment/bot.ts";
import type { TestEnvironment, TestEnvironmentOptions } from "../../lab/test-environment/test-environment.ts";
import type { Logger } from "../../src/log/log.ts";
import { startTestEnvironment } from "./start-test-environment.ts";
import { VirtualTestEnvironment } from "./virtual-test-environment.ts";

/** @param nth number of requests for this path since the script was set */
type Script = (nth: number, request: LoggedRequest) => Answer | undefined;
/** By path without leading slash. */
type Scripts = Map<string, { readonly script: Script; count: number }>;

interface UpstreamTestEnvironmentOptions {
  readonly config?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, Uint8Array | string>>;
  readonly root?: string;
  /** Other modules than the real ones for the audio workers and the probe thread. */
  readonly mediaEntry?: URL;
  readonly probeEntry?: URL;
  /** Default: what the node says goes nowhere. */
  readonly logger?: Logger;
  /** Asked for what no `answer` was set for. */
  readonly fallback?: (request: LoggedRequest) => Answer | undefined;
}

export class UpstreamTestEnvironment {
  readonly env: TestEnvironment;
  readonly bot: Bot;
  readonly #scripts: Scripts;
  #guildCount = 0;

  private constructor(parts: { env: TestEnvironment; bot: Bot; scripts: Scripts }) {
    this.env = parts.env;
    this.bot = parts.bot;
    this.#scripts = parts.scripts;
  }

  static async start(options: UpstreamTestEnvironmentOptions): Promise<UpstreamTestEnvironment> {
    const scripts: Scripts = new Map();
    const env = await startTestEnvironment(testEnvironmentOptions(options, scripts));
    return new UpstreamTestEnvironment({ env, bot: await env.connectBot(), scripts });
  }

  /** Starts it in virtual time, which passes with the environment's `run`. */
  static async startVirtual(
    options: Omit<UpstreamTestEnvironmentOptions, "mediaEntry" | "probeEntry">,
  ): Promise<{ readonly upstream: UpstreamTestEnvironment; readonly virtual: VirtualTestEnvironment }> {
    const scripts: Scripts = new Map();
    const virtual = await VirtualTestEnvironment.start(testEnvironmentOptions(options, scripts));
    const { env } = virtual;
    const bot = await virtual.run(() => env.connectBot());
    return { upstream: new UpstreamTestEnvironment({ env, bot, scripts }), virtual };
  }

  /** Address of a path of the web server. */
  url(path: string): string {
    return `${this.env.media.url}/${path}`;
  }

  /** From now on this path (with its query) answers so; what the script leaves undefined is answered by the path. */
  answer(path: string, script: Script): void {
    this.#scripts.set(path, { script, count: 0 });
  }

  requests(path: string): LoggedRequest[] {
    return this.env.media.requests.filter((request) => request.path === `/${path}`);
  }

  /** Loads a path as it is served by now; the encoded track. */
  load(path: string): Promise<string> {
    return this.bot.loadEncoded(this.url(path));
  }

  /** A new guild with the bot in voice. */
  async enterGuild(): Promise<Guild> {
    const guildId = String(++this.#guildCount);
    await this.env.joinVoice(this.bot, { guildId, daveVersion: 0 });
    return new Guild(this, guildId);
  }

  close(): Promise<void> {
    return this.env.close();
  }
}

function testEnvironmentOptions(options: UpstreamTestEnvironmentOptions, scripts: Scripts): TestEnvironmentOptions {
  const { config = {}, files = {}, root, fallback, mediaEntry, probeEntry, logger } = options;
  const script = (request: LoggedRequest): Answer | undefined => {
    const entry = scripts.get(request.path.slice(1));
    return entry === undefined ? fallback?.(request) : entry.script(entry.count++, request);
  };
  return {
    config,
    media: { files, script, ...(root === undefined ? {} : { root }) },
    ...(mediaEntry === undefined ? {} : { mediaEntry }),
    ...(probeEntry === undefined ? {} : { probeEntry }),
    ...(logger === undefined ? {} : { logger }),
  };
}

/** The events of one guild's client and the audio of its listener. */
class Guild {
  readonly guildId: string;
  readonly #upstream: UpstreamTestEnvironment;

  constructor(upstream: UpstreamTestEnvironment, guildId: string) {
    this.#upstream = upstream;
    this.guildId = guildId;
  }

  async play(encoded: string, update: object = {}): Promise<void> {
    await this.update({ track: { encoded }, ...update });
  }

  async update(update: object): Promise<void> {
    await this.#upstream.bot.update(this.guildId, update);
  }

  /** Everything that arrived, silence frames too. */
  get frames(): readonly ReceivedFrame[] {
    return this.#upstream.env.discord.channel(`${this.guildId}7`).listener.received;
  }

  /** Audio, without silence frames. */
  get audio(): readonly ReceivedFrame[] {
    return this.frames.filter((frame) => !frame.isSilence);
  }

  /** Numbers of the received packets of a counted song. */
  get numbers(): number[] {
    return packetNumbers(this.audio);
  }

  /** Types of the events so far, in order. */
  get eventTypes(): (string | undefined)[] {
    return this.#upstream.bot.messages
      .filter(({ op, guildId }) => op === "event" && guildId === this.guildId)
      .map(({ type }) => type);
  }

  receives(audioFrames: number): Promise<void> {
    const { discord } = this.#upstream.env;
    return discord.until(() => this.audio.length >= audioFrames, `${audioFrames} frames of audio`, 20_000);
  }

  /** The first event of this type. */
  event(type: string, timeoutMs = 20_000): Promise<NodeMessage> {
    const isIt = (message: NodeMessage): boolean => message.type === type && message.guildId === this.guildId;
    return this.#upstream.bot.until(isIt, `${type} in ${this.guildId}`, timeoutMs);
  }

  /** Waits for the end of the track; its reason. */
  async ended(timeoutMs?: number): Promise<unknown> {
    return (await this.event("TrackEndEvent", timeoutMs)).reason;
  }

  /** Resolves when all audio has been received: the event of an end may be faster than the last packets. */
  untilSilent(): Promise<void> {
    return this.#upstream.env.discord.untilSilent(`${this.guildId}7`);
  }

  /** Waits for the exception; it must contain neither secrets nor paths of this machine. */
  async exception(timeoutMs?: number): Promise<ExceptionView> {
    const { exception } = await this.event("TrackExceptionEvent", timeoutMs);
    return exception as ExceptionView; // protocol-v4.md section 3.5
  }
}

export interface ExceptionView {
  readonly message: string;
  readonly severity: string;
  readonly cause: string;
  readonly causeStackTrace: string;
}

/** Parts of an error object that no client should read: absolute paths of files. */
export function pathsIn(error: ExceptionView): string[] {
  return JSON.stringify(error).match(/(file:\/\/|\/(home|root|tmp|usr|work|var|Users|etc)\/)[^\s"\\]*/g) ?? [];
}
