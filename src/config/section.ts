// A section: the keys that share a prefix. One per file in sections/, each with the function that turns its values into
// the part of the NodeConfig they make up. Main thread, at start.

import type { Key } from "./key.ts";

export type SectionKeys = Readonly<Record<string, Key<unknown>>>;

export interface Section<Keys extends SectionKeys = SectionKeys> {
  /** Where the keys lie: `lavalink.server`, or "" for the top of the file. */
  readonly path: string;
  readonly keys: Keys;
}

/** The checked values of a section, by the names of its keys. */
export type SectionValues<S extends Section> = {
  readonly [Name in keyof S["keys"]]: S["keys"][Name] extends Key<infer T> ? T : never;
};

/** A key with its place in the file. */
export interface KeyEntry {
  /** In its proper spelling: `lavalink.server.playerUpdateInterval`. */
  readonly path: string;
  readonly key: Key<unknown>;
}

export function defineSection<const Keys extends SectionKeys>(path: string, keys: Keys): Section<Keys> {
  return { path, keys };
}

export function entriesOf(section: Section): KeyEntry[] {
  return Object.entries(section.keys).map(([name, key]) => ({
    path: section.path === "" ? name : `${section.path}.${name}`,
    key,
  }));
}
