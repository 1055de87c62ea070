// Where recordings are looked for: the searches that the operator has named, in their order. Main thread; used by
// mirrors.ts.

import type { Logger } from "../../log/log.ts";
import { parseTemplate, type SearchTemplate, TEMPLATE_LENGTH_MAX } from "../../recordings/search-template.ts";

/** The key of the searches for tracks of mirrored sources. */
const PROVIDERS_PATH = "plugins.lavasrc.providers";
const DEFAULT_PROVIDERS = [
  'ytmsearch:"%ISRC%"',
  "ytmsearch:%QUERY%",
  "ytsearch:%QUERY%",
  "scsearch:%QUERY%",
  "bcsearch:%QUERY%",
] as const;
const PROVIDERS_MAX = 20;
const SHOWN_LENGTH_MAX = 100;
const EXPECTED = `a search prefix, alone or with %ISRC%, %QUERY%, %TITLE%, %AUTHOR% or %ALBUM% behind it, of at most ${TEMPLATE_LENGTH_MAX} characters`;

/** The fallback of one plugin. */
export interface PluginFallback {
  /** The key that sets it, for messages: `plugins.youtube.fallback`. */
  readonly path: string;
  /** The names of the plugin's sources. */
  readonly sourceNames: readonly string[];
  /** Search prefixes without a colon, or templates, in the order in which they are asked. */
  readonly prefixes: readonly string[];
}

/** A mirrored source, and the prefixes by which its tracks are looked for, each once. */
export interface MirroredSource {
  readonly name: string;
  readonly prefixes: readonly string[];
}

export interface MirrorProvidersOptions {
  readonly loader: {
    /** The name of the source that an identifier is for. */
    claimantOf(identifier: string): string | undefined;
    /** The names of the sources whose tracks are played from others. */
    readonly mirroredNames: readonly string[];
  };
  /** At this moment: plugins may learn of their sources late. */
  readonly list: () => readonly PluginFallback[];
  /** `plugins.lavasrc.providers` as written. Default: none. */
  readonly providers?: readonly string[] | undefined;
  readonly logger: Logger;
}

export class MirrorProviders {
  readonly #options: MirrorProvidersOptions;
  readonly #defaults = templatesOf(DEFAULT_PROVIDERS);
  readonly #configured: readonly SearchTemplate[];

  constructor(options: MirrorProvidersOptions) {
    this.#options = options;
    this.#configured = templatesOf(this.#written);
  }

  isMirrored(sourceName: string): boolean {
    return this.#options.loader.mirroredNames.includes(sourceName);
  }

  /** For the tracks of a source: those for mirrors, and its fallback. */
  for(sourceName: string): readonly SearchTemplate[] {
    const fallback = this.fallbackFor(sourceName);
    const isOnlyFallback = fallback.length > 0 && !this.isMirrored(sourceName);
    return isOnlyFallback ? fallback : [...this.#forMirrors(), ...fallback];
  }

  fallbackFor(sourceName: string): readonly SearchTemplate[] {
    return templatesOf(
      this.#options.list().find(({ sourceNames }) => sourceNames.includes(sourceName))?.prefixes ?? [],
    );
  }

  /** Why the tracks of a source cannot be searched there by anybody; undefined if they can. */
  obstacleTo(template: SearchTemplate, sourceName: string): string | undefined {
    const claimant = this.claimantOf(template);
    if (claimant === undefined) return "no source has this prefix, or its source is off";
    if (claimant === sourceName) return "it is the source of the track itself";
    return this.isMirrored(claimant) ? `${claimant} has no audio itself` : undefined;
  }

  /** The name of the source that is searched. */
  claimantOf({ text }: SearchTemplate): string | undefined {
    return this.#options.loader.claimantOf(`${text.slice(0, text.indexOf("%"))}song`);
  }

  /** Those that are on, for the report at the start. */
  get mirrored(): readonly MirroredSource[] {
    return this.#options.loader.mirroredNames.map((name) => {
      const usable = this.for(name).filter((template) => this.#isUsable(template));
      return { name, prefixes: [...new Set(usable.map(({ prefix }) => prefix))] };
    });
  }

  /** Logs a warning for each search that leads nowhere. */
  warn(): void {
    const { list, logger, loader } = this.#options;
    for (const { path, sourceNames, prefixes } of list()) {
      for (const template of templatesOf(prefixes)) {
        const trouble = this.#troubleOf(template, sourceNames);
        if (trouble !== undefined) logger.warn(`${path}: ${template.prefix} has no effect: ${trouble}`);
      }
    }
    if (loader.mirroredNames.length > 0) this.#warnOfProviders();
  }

  get #written(): readonly string[] {
    return (this.#options.providers ?? []).slice(0, PROVIDERS_MAX);
  }

  #warnOfProviders(): void {
    const { providers = [], logger } = this.#options;
    for (const written of this.#written) {
      const template = parseTemplate(written);
      const trouble = template === undefined ? `expected ${EXPECTED}` : this.#troubleOf(template, []);
      if (trouble === undefined) continue;
      const isAbsent = template !== undefined && this.claimantOf(template) === undefined;
      const advice = isAbsent ? "Turn that source on, or remove it" : "Remove it";
      logger.warn(`${PROVIDERS_PATH}: ${written.slice(0, SHOWN_LENGTH_MAX)} is skipped: ${trouble}. ${advice}`);
    }
    if (providers.length > PROVIDERS_MAX) logger.warn(`${PROVIDERS_PATH}: only the first ${PROVIDERS_MAX} are used`);
    if (this.#written.length > 0 && !this.#configured.some((template) => this.#isUsable(template))) {
      const used = this.#forMirrors().map(({ prefix }) => prefix);
      const instead = used.length === 0 ? "nothing else is on either" : [...new Set(used)].join(", ");
      logger.warn(`${PROVIDERS_PATH}: none of them can be used here; used instead: ${instead}`);
    }
  }

  /** `ownNames`: the sources whose tracks are looked for. */
  #troubleOf(template: SearchTemplate, ownNames: readonly string[]): string | undefined {
    const claimant = this.claimantOf(template);
    if (claimant === undefined) return "no source has this search prefix, or the source that has it is off";
    if (this.isMirrored(claimant)) return `${claimant} has no audio itself`;
    const isOwn = ownNames.length > 0 && ownNames.every((name) => name === claimant);
    return isOwn ? `it searches ${claimant}, whose tracks it is for` : undefined;
  }

  #isUsable(template: SearchTemplate): boolean {
    return this.#troubleOf(template, []) === undefined;
  }

  #forMirrors(): readonly SearchTemplate[] {
    const configured = this.#configured.filter((template) => this.#isUsable(template));
    return configured.length > 0 ? configured : this.#defaults.filter((template) => this.#isUsable(template));
  }
}

function templatesOf(texts: readonly string[]): readonly SearchTemplate[] {
  return texts.flatMap((text) => parseTemplate(text) ?? []);
}
