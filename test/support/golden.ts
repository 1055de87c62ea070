// Reads the recordings of a real node in test/fixtures/golden and makes them comparable: placeholders are filled in,
// and what depends on time, memory or version is taken out of both sides.

import { readFileSync } from "node:fs";
import { createTrack, decodeTrack } from "../../src/track/track.ts";

/** The result of JSON.parse. */
export type Parsed = ReturnType<JSON["parse"]>;

interface GoldenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface GoldenStep {
  readonly request: GoldenRequest;
  readonly response: {
    /** Null: no answer within the time the recording allowed. */
    readonly status: number | null;
    readonly headers: readonly (readonly [string, string])[];
    readonly body?: string;
    readonly json: Parsed;
  };
  readonly ws?: readonly { readonly msg: Parsed }[];
}

export interface GoldenCase {
  readonly name: string;
  readonly steps: readonly GoldenStep[];
}

/** The folder of the media files, wherever it was. */
const MEDIA = "/media";

/** All recorded REST cases, with placeholders other than `{session}` filled in. */
export function readRestCases(media = MEDIA): readonly GoldenCase[] {
  return readRecorded("rest.jsonl", media).map((recorded) => ({
    name: recorded.name,
    steps: recorded.steps ?? [recorded],
  }));
}

/** Every line of a file, with the placeholders of media filled in; files of media lie in the folder `media`. */
export function readRecorded(name: string, media = MEDIA): readonly Parsed[] {
  const lines = readLines(name).map((line) => line.replaceAll("{media}", media));
  const locals = localTracks(lines);
  return lines
    .map((line) => line.replaceAll(/\{encoded of local ([^}]+)\}/g, (_whole, file: string) => locals.get(file) ?? ""))
    .map((line) => JSON.parse(line));
}

export function readLines(name: string): readonly string[] {
  const path = new URL(`../fixtures/golden/${name}`, import.meta.url);
  return readFileSync(path, "utf8").split("\n").filter(Boolean);
}

/** The encoded form of each local file, which the recordings leave out because it held a path. */
function localTracks(lines: readonly string[]): ReadonlyMap<string, string> {
  const tracks = new Map<string, string>();
  const visit = (value: Parsed): void => {
    if (typeof value !== "object" || value === null) return;
    const [, name] = /^\{encoded of local ([^}]+)\}$/.exec(value.encoded) ?? [];
    if (name !== undefined && !tracks.has(name) && value.info !== undefined) {
      const details = { kind: "probe", probeInfo: value.pluginInfo.probeInfo } as const;
      tracks.set(name, createTrack({ ...value.info, position: 0 }, details).encoded);
    }
    Object.values(value).forEach(visit);
  };
  for (const line of lines) visit(JSON.parse(line));
  return tracks;
}

/** A body or message without what two runs never share; encoded tracks are replaced by what they decode to. */
export function comparable(value: Parsed): Parsed {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== "object" || value === null) return value;
  if (typeof value.encoded === "string" && typeof value.info === "object") {
    // It must contain the same information, except for the position, which the placeholders have lost.
    const { info } = JSON.parse(JSON.stringify(decodeTrack(value.encoded), bigintsAsNumbers));
    return { ...value, encoded: { ...info, position: undefined } };
  }
  const entries = Object.entries(value).map(([key, member]) => {
    if (["timestamp", "time", "uptime", "memory", "cpu"].includes(key)) return [key, typeof member];
    if (key === "trace") return [key, typeof member];
    return [key, comparable(member)];
  });
  return Object.fromEntries(entries);
}

function bigintsAsNumbers(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}
