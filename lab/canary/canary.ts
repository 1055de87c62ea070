// Tries the sources of a node, one request after the other with pauses, so that no site is hammered: a search, a link,
// and three seconds of audio each. Every wait, every source, and the whole run have a time limit.

import { systemClock } from "../../src/lib/clock.ts";
import { sleep } from "../sleep.ts";
import type { LoadView } from "../test-environment/bot.ts";
import { within } from "../within.ts";
import { type CanaryNode, type PluginView, type SourceView, troubleText } from "./canary-node.ts";
import type { FurtherTry, SourceTries, Tries, TryRequest } from "./tries.ts";

/** The node itself gives up a load after 20 s. */
const LOAD_MS_MAX = 25_000;
const AUDIO_MS_MAX = 30_000;
/** Time limit for an answer of the node, which does nothing else. */
const ANSWER_MS_MAX = 10_000;
const ALL_MS_MAX = 15 * 60_000;
const TOO_LATE = `not tried: ${ALL_MS_MAX / 60_000} minutes are over`;

/** One request and its result. */
export interface Tried {
  readonly source: string;
  readonly what: "set-up" | "search" | "link" | "audio";
  /** The identifier that was requested. */
  readonly identifier: string;
  readonly outcome: "ok" | "failed" | "skipped";
  /** Text for people: what was found, or what failed. */
  readonly found: string;
  readonly tookMs?: number;
  /** Backends that were used, and how often they failed. */
  readonly backends: readonly string[];
}

interface CanaryOptions {
  readonly tries: Tries;
  /** Names of sources; undefined: all. */
  readonly only: readonly string[] | undefined;
  /**
   * Pause between two requests, milliseconds. At least 1,100: a plugin reports the state of its backends once a second.
   */
  readonly pauseMs: number;
  /** Called with each result as soon as it is known. */
  readonly onTried: (tried: Tried) => void;
}

interface FoundTrack {
  readonly encoded: string;
  readonly info: { readonly title: string; readonly sourceName: string };
}

type Outcome = Pick<Tried, "outcome" | "found"> & { readonly track?: FoundTrack | undefined };

type TriedNode = Pick<CanaryNode, "plugins" | "sourceNames" | "sources" | "changeOptions" | "load" | "play">;

export class Canary {
  readonly #node: TriedNode;
  readonly #options: CanaryOptions;
  readonly #endsMs = systemClock.now() + ALL_MS_MAX;

  constructor(node: TriedNode, options: CanaryOptions) {
    this.#node = node;
    this.#options = options;
  }

  /** Throws where `only` names a source that is not enabled. */
  async run(): Promise<void> {
    const { only, tries } = this.#options;
    const off = offPlugins(await this.#node.plugins());
    const names = await this.#node.sourceNames();
    const known = [...off.keys(), ...names];
    const unknown = only?.filter((name) => !known.includes(name)) ?? [];
    if (unknown.length > 0)
      throw new Error(`unknown or disabled source: ${unknown.join(", ")}; enabled: ${known.join(", ")}`);
    const isSelected = (name: string): boolean => only?.includes(name) ?? true;
    for (const [source, trouble] of off) {
      if (isSelected(source))
        this.#report({ source, what: "set-up", outcome: "failed", found: `its plugin is off: ${trouble}` });
    }
    for (const name of names.filter(isSelected)) await this.#source(name, tries[name] ?? {});
  }

  async #source(source: string, { search, link, more }: SourceTries): Promise<void> {
    if (search || link || !more) await this.#request(source, { search, link });
    for (const further of more ?? []) await this.#further(source, further);
  }

  /** With other options of its plugin, if it asks for them. */
  async #further(source: string, { options, mayFailWith, ...request }: FurtherTry): Promise<void> {
    if (options === undefined) return this.#request(source, request, mayFailWith);
    try {
      const restore = await this.#node.changeOptions(source, options);
      try {
        // The new thread reports its backends once a second.
        await sleep(this.#options.pauseMs);
        await this.#request(source, request, mayFailWith);
      } finally {
        await restore();
      }
    } catch (error) {
      this.#report({ source, what: "set-up", outcome: "failed", found: messageOf(error) });
    }
  }

  async #request(source: string, { search, link }: TryRequest, mayFailWith?: string): Promise<void> {
    if (!search && !link) {
      const found = "nothing to try: add a request to a file and pass it with --tries";
      return this.#report({ source, what: "search", outcome: "skipped", found });
    }
    if (systemClock.now() >= this.#endsMs) {
      return this.#report({ source, what: "search", outcome: "failed", found: TOO_LATE });
    }
    const found = search ? await this.#try(source, "search", search, () => this.#load(source, search)) : undefined;
    const linked = link ? await this.#try(source, "link", link, () => this.#load(source, link)) : undefined;
    const track = linked?.track ?? found?.track;
    if (track === undefined) {
      return this.#report({ source, what: "audio", outcome: "skipped", found: "there is no track to play" });
    }
    await this.#try(source, "audio", `of ${track.info.title}`, () => this.#play(track, mayFailWith));
  }

  async #try(source: string, what: Tried["what"], identifier: string, work: () => Promise<Outcome>): Promise<Outcome> {
    const before = await this.#backendsOf(source);
    const startedMs = systemClock.now();
    const { outcome, found, track } = await work().catch((error: unknown): Outcome => {
      return { outcome: "failed", found: messageOf(error) };
    });
    const tookMs = systemClock.now() - startedMs;
    await sleep(this.#options.pauseMs);
    const backends = backendsUsed(before, await this.#backendsOf(source));
    this.#report({ source, what, identifier, outcome, found, tookMs, backends });
    return { outcome, found, track };
  }

  async #load(source: string, identifier: string): Promise<Outcome> {
    const limitMs = this.#limit(LOAD_MS_MAX);
    const answer = await within(this.#node.load(identifier), limitMs);
    if (answer === undefined) return { outcome: "failed", found: `no answer within ${Math.round(limitMs / 1000)} s` };
    if (answer.loadType === "error") return { outcome: "failed", found: troubleText(answer.data) };
    const tracks = tracksOf(answer);
    const [track] = tracks;
    if (track === undefined) return { outcome: "failed", found: "found nothing" };
    const { title, sourceName } = track.info;
    const by = sourceName === source ? "" : `by ${sourceName}: `;
    return {
      outcome: "ok",
      found: `${by}${tracks.length === 1 ? title : `${tracks.length} tracks, first ${title}`}`,
      track,
    };
  }

  async #play({ encoded }: FoundTrack, mayFailWith: string | undefined): Promise<Outcome> {
    const limitMs = this.#limit(AUDIO_MS_MAX);
    // The steps before and after it have no separate time limit.
    const result = await within(this.#node.play(encoded, limitMs), limitMs + ANSWER_MS_MAX);
    if (result === undefined) return { outcome: "failed", found: "the node did not answer" };
    const { seconds, startMs = 0, trouble } = result;
    const text = `received ${seconds.toFixed(1)} s, the first after ${Math.round(startMs)} ms`;
    if (trouble === undefined) return { outcome: "ok", found: text };
    if (mayFailWith !== undefined && trouble.includes(mayFailWith)) return { outcome: "ok", found: trouble };
    return { outcome: "failed", found: seconds === 0 ? trouble : `${trouble}; ${text}` };
  }

  async #backendsOf(source: string): Promise<SourceView["backends"]> {
    return (await this.#node.sources()).find(({ name }) => name === source)?.backends ?? [];
  }

  /** Limits a wait to the time that is left for the whole run. Throws when none is left. */
  #limit(limitMs: number): number {
    const leftMs = this.#endsMs - systemClock.now();
    if (leftMs <= 0) throw new Error(TOO_LATE);
    return Math.min(limitMs, leftMs);
  }

  #report(tried: Omit<Tried, "identifier" | "backends"> & Partial<Tried>): void {
    this.#options.onTried({ identifier: "", backends: [], ...tried });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The reasons by the names of the plugins' sources, or by plugin name where no source is known. */
function offPlugins(plugins: readonly PluginView[]): Map<string, string> {
  const off = plugins.filter(({ state }) => state === "off");
  return new Map(
    off.flatMap(({ name, sources, trouble }) => {
      return (sources.length === 0 ? [name] : sources).map((source): [string, string] => [
        source,
        trouble ?? "unknown",
      ]);
    }),
  );
}

function tracksOf({ loadType, data }: LoadView): readonly FoundTrack[] {
  if (loadType === "track") return [data as FoundTrack]; // protocol 3.4, as those below
  if (loadType === "search") return data as readonly FoundTrack[];
  return loadType === "playlist" ? (data as { readonly tracks: readonly FoundTrack[] }).tracks : [];
}

/** The backends whose counts have changed; the counts of a restarted thread begin at zero. */
function backendsUsed(before: SourceView["backends"], after: SourceView["backends"]): string[] {
  return after.flatMap(({ name, succeeded, failed }) => {
    const last = before.find((backend) => backend.name === name);
    const isNew = last === undefined || succeeded < last.succeeded || failed < last.failed;
    const [more, less] = isNew ? [succeeded, failed] : [succeeded - last.succeeded, failed - last.failed];
    if (more + less === 0) return [];
    return [less === 0 ? name : `${name} (failed ${less} of ${more + less})`];
  });
}
