// A source of a plugin as the track loader sees it: the plugin's thread does the work. Main thread.

import type { PlayableInput } from "../../bridge/playable-input.ts";
import type { PluginLink, PluginLinkRequest, SourceManifest } from "../../bridge/plugin-messages.ts";
import type { AllowedSources } from "../../control/access/identity.ts";
import type { Source, SourceAnswer, SourceRequest } from "../../control/sources/source.ts";
import type { Clock } from "../../lib/clock.ts";
import type { WorkOptions } from "../../lib/owners.ts";
import type { Track } from "../../track/track.ts";
import { isClaimed } from "./claims.ts";
import type { PluginRunner } from "./plugin-runner.ts";
import { SourceHealth } from "./source-health.ts";

/** Same limit as the track loader's; this one is for direct callers. */
const LOAD_TIMEOUT_MS = 20_000;
const RESOLVE_TIMEOUT_MS = 15_000;

export interface LinkOptions extends WorkOptions {
  /** The sources that the owner may use. Undefined: all. */
  readonly allowed: AllowedSources | undefined;
}

interface PluginSourceOptions {
  readonly runner: PluginRunner;
  readonly clock: Clock;
  /** The same source before its plugin was set up again: its counters continue. */
  readonly known?: PluginSource | undefined;
}

export class PluginSource implements Source {
  readonly loads: SourceHealth;
  readonly links: SourceHealth;
  readonly #manifest: SourceManifest;
  readonly #runner: PluginRunner;
  readonly #clock: Clock;

  constructor(manifest: SourceManifest, { runner, clock, known }: PluginSourceOptions) {
    this.#manifest = manifest;
    this.#runner = runner;
    this.#clock = clock;
    this.loads = known?.loads ?? new SourceHealth();
    this.links = known?.links ?? new SourceHealth();
  }

  get name(): string {
    return this.#manifest.name;
  }

  get isMirrored(): boolean {
    return this.#manifest.isMirrored === true;
  }

  /** Starts of the identifiers that it claims. */
  get prefixes(): readonly string[] {
    return this.#manifest.prefixes ?? [];
  }

  isClaimed(identifier: string): boolean {
    return isClaimed(identifier, this.#manifest);
  }

  async load({ identifier, depth, owner, allowed, signal }: SourceRequest): Promise<SourceAnswer | undefined> {
    if (!this.isClaimed(identifier)) return undefined;
    const request = { type: "load" as const, source: this.name, identifier, depth, owner, sources: allowed?.names };
    const work = this.#runner.request(request, { signal, timeoutMs: LOAD_TIMEOUT_MS });
    const answer = await this.loads.count(work, () => this.#clock.epochMs());
    if (answer.kind === "none") return undefined;
    if (answer.kind === "reference") return { ...answer, title: undefined };
    if (answer.kind !== "playlist") return answer;
    const { kind, ...playlist } = answer;
    return { kind, playlist };
  }

  /** The link is requested when the audio is needed: it is not known here. */
  playableInput({ encoded, userData }: Track): PlayableInput {
    return { kind: "site", track: { sourceName: this.name, encoded, userData } };
  }

  /** Requests the track's current audio link. Rejects with the plugin's own error, `plugin-off`, `plugin-lost`. */
  async link(linkRequest: PluginLinkRequest, { owner, allowed, signal }: LinkOptions): Promise<PluginLink> {
    const request = { type: "resolve" as const, source: this.name, linkRequest, owner, sources: allowed?.names };
    const work = this.#runner.request(request, { signal, timeoutMs: RESOLVE_TIMEOUT_MS });
    return this.links.count(work, () => this.#clock.epochMs());
  }
}
