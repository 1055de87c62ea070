// One simulation: a world, some guilds in it, and the injected faults; in the end all broken rules. The same seed gives
// the same run, event for event.

import { createHash } from "node:crypto";
import { pause } from "../../src/lib/pause.ts";
import type { ViolationKind } from "../discord/violations.ts";
import type { Answer } from "../media-server/answer-plan.ts";
import type { NodeMessage } from "../test-environment/bot.ts";
import type { Dice } from "./dice.ts";
import { FAULT_PLAN } from "./fault-plan.ts";
import { Guild } from "./guild.ts";
import { faultyPlan, type Provisions, SimulatedWorld } from "./world.ts";

interface SimulationOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly guilds: number;
  readonly provisions: Provisions;
  /** Packets of each song. */
  readonly songPackets: number;
  /** Called with each event as it happens. */
  readonly onNote?: (note: string) => void;
}

interface Outcome {
  /** All broken rules, in words. */
  readonly faults: readonly string[];
  /** Digest of all events and their times: equal for equal runs. */
  readonly digest: string;
  /** Virtual time that passed. */
  readonly lengthMs: number;
  readonly receivedFrames: number;
  readonly injectedFaultCount: number;
}

interface Excuse {
  readonly kinds: readonly ViolationKind[];
  /** Undefined: all guilds. */
  readonly guildId: string | undefined;
  readonly fromMs: number;
  untilMs: number;
}

const STALL_MS_MAX = 6000;
/** From a guild's next frame until everything missing before it has been judged. */
const NEXT_FRAME_MS = 1000;
/** From the end of a stall until there is audio, when everything that arrived before it has been played. */
const STALL_REST_MS = 500;

class Simulation {
  readonly #options: SimulationOptions;
  readonly #world: SimulatedWorld;
  readonly #random: Dice;
  readonly #guilds: readonly Guild[];
  readonly #digest = createHash("sha256");
  readonly #excuses: Excuse[] = [];
  /** The faults of the web site, by the tag at the end of a song's address. */
  readonly #spoilt = new Map<string, "cut" | "stall">();
  readonly #others: string[] = [];
  #injectedFaultCount = 0;

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.#world = new SimulatedWorld({
      seed: options.seed,
      provisions: options.provisions,
      onMessage: (message) => this.#onMessage(message),
      script: ({ path }) => this.#answer(path),
    });
    this.#random = this.#world.random.branch();
    this.#guilds = Array.from({ length: options.guilds }, (_, index) => {
      const guildId = String(index + 1);
      return new Guild({
        world: this.#world,
        guildId,
        random: this.#random.branch(),
        songPackets: options.songPackets,
        spoil: (tag, how) => this.#spoilt.set(tag, how),
        note: (what) => this.#note(what),
        excuse: (kinds, forMs) => this.#excuse(kinds, forMs),
      });
    });
  }

  async run(): Promise<Outcome> {
    const world = this.#world;
    const { clock } = world;
    const endMs = this.#options.minutes * 60_000;
    let injectedFault: Promise<void> = Promise.resolve();
    await world.open();
    await clock.drive(
      world.client.open().then(async () => {
        injectedFault = this.#injectFaults(endMs);
        await Promise.all(this.#guilds.map((guild) => this.#runGuild(guild, endMs)));
        await injectedFault;
        this.#judge();
        await world.close();
      }),
    );
    const receivedFrames = sumOf(this.#guilds, ({ listener }) => listener.receivedCount);
    return {
      faults: this.#others,
      digest: this.#digest.digest("hex").slice(0, 16),
      lengthMs: clock.now(),
      receivedFrames,
      injectedFaultCount: this.#injectedFaultCount,
    };
  }

  async #runGuild(guild: Guild, endMs: number): Promise<void> {
    try {
      await guild.run(endMs);
    } catch (error) {
      const now = this.#world.clock.now().toFixed(0);
      this.#others.push(
        `${now} guild ${guild.guildId}: its story broke off: ${error instanceof Error ? error.message : error}`,
      );
    }
  }

  async #injectFaults(endMs: number): Promise<void> {
    const { clock } = this.#world;
    for (;;) {
      await pause(clock, this.#random.between(3000, 20_000));
      if (clock.now() >= endMs) return;
      const injectedFault = this.#random.pick(FAULT_PLAN);
      this.#injectedFaultCount++;
      this.#note(injectedFault.name);
      await injectedFault.inject({
        world: this.#world,
        random: this.#random.branch(),
        allow: (tolerance) => {
          for (const { listener } of this.#guilds) listener.allow(tolerance);
        },
        excuse: (kinds, forMs) => this.#excuse(kinds, forMs),
        excuseUntilNextFrame: (kinds) => this.#excuseUntilNextFrame(kinds),
        dropClient: (awayMs) => {
          this.#world.client.drop(awayMs);
          for (const guild of this.#guilds) guild.onClientCut(awayMs);
        },
        cutGateways: () => {
          this.#world.network.breakConnections(this.#world.gatewayPort, "cut");
          for (const guild of this.#guilds) guild.onGatewayCut();
        },
        silenceGateways: (forMs, kinds) => {
          this.#world.network.breakConnections(this.#world.gatewayPort, "silent");
          for (const guild of this.#guilds) guild.onGatewaySilent(forMs, kinds);
        },
      });
    }
  }

  #excuse(kinds: readonly ViolationKind[], forMs: number): void {
    const now = this.#world.clock.now();
    this.#excuses.push({ kinds, guildId: undefined, fromMs: now, untilMs: now + forMs });
  }

  #excuseUntilNextFrame(kinds: readonly ViolationKind[]): void {
    const { clock } = this.#world;
    for (const guild of this.#guilds) {
      const { guildId } = guild;
      const excuse: Excuse = { kinds, guildId, fromMs: clock.now(), untilMs: Number.POSITIVE_INFINITY };
      this.#excuses.push(excuse);
      guild.onNextFrame(() => {
        excuse.untilMs = clock.now() + NEXT_FRAME_MS;
      });
    }
  }

  #onMessage(message: NodeMessage): void {
    if (message.op === "stats") return; // depends on this machine
    this.#note(`${message.op} ${message.type ?? ""} ${message.guildId ?? ""} ${JSON.stringify(message.state ?? "")}`);
    this.#guilds.find(({ guildId }) => guildId === message.guildId)?.onMessage(message);
  }

  #note(what: string): void {
    const note = `${this.#world.clock.now().toFixed(3)} ${what}`;
    this.#digest.update(note);
    this.#options.onNote?.(note);
  }

  #answer(path: string): Answer | undefined {
    const [, song = "0", tag = ""] = /song(\d+)\.ogg\?(.*)/.exec(path) ?? [];
    const how = this.#spoilt.get(tag);
    const bytes = this.#options.provisions.songs[Number(song)];
    if (how === undefined || bytes === undefined) return undefined;
    this.#spoilt.delete(tag);
    this.#note(`${how} of ${path}`);
    const afterBytes = this.#random.whole(20_000, Math.min(bytes.length, 400_000));
    const forMs = this.#random.between(100, STALL_MS_MAX);
    const guild = this.#guilds.find(({ guildId }) => tag.startsWith(`${guildId}-`));
    const onBegun = () => guild?.listener.allow({ why: "the site stalls", silentMs: forMs + STALL_REST_MS });
    return faultyPlan(bytes, how === "cut" ? { kind: how } : { kind: how, forMs, onBegun }, afterBytes);
  }

  #judge(): void {
    const { discord, lines, threads, network } = this.#world;
    this.#others.push(...this.#guilds.flatMap((guild) => [...guild.listener.faults, ...guild.eventFaults()]));
    for (const { atMs, kind, guildId, detail } of discord.violations) {
      const isExcused = this.#excuses.some(
        (excuse) =>
          excuse.kinds.includes(kind) &&
          (excuse.guildId ?? guildId) === guildId &&
          atMs >= excuse.fromMs &&
          atMs <= excuse.untilMs,
      );
      if (!isExcused) this.#others.push(`${atMs.toFixed(0)} guild ${guildId}: ${kind}: ${detail}`);
    }
    for (const { atMs, level, message, fields } of lines) {
      if (level === "error" && !EXPECTED_ERRORS.has(message)) {
        this.#others.push(`${atMs.toFixed(0)} log: ${message} ${String(fields.error)}`);
      }
    }
    const missing = sumOf(this.#guilds, ({ listener }) => listener.missingCount);
    const counted =
      threads.framesDropped + network.lostDatagrams + sumOf(this.#guilds, (guild) => guild.undeliveredFrames);
    const unreported = threads.endedCount * this.#guilds.length * UNREPORTED_FRAMES_MAX;
    const uncounted = missing - counted - unreported;
    if (uncounted > 0) this.#others.push(`${uncounted} frames are missing that no worker has counted as lost`);
  }
}

/** Per player of a worker that has ended: frames that it had neither reported nor sent. */
const UNREPORTED_FRAMES_MAX = 75;

function sumOf<T>(items: readonly T[], read: (item: T) => number): number {
  return items.reduce((sum, item) => sum + read(item), 0);
}

/** Errors that the node should log because of injected faults. */
const EXPECTED_ERRORS = new Set(["audio worker lost: its players move to another"]);

export function simulate(options: SimulationOptions): Promise<Outcome> {
  return new Simulation(options).run();
}
