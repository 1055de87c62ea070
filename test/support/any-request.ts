// Requests of every kind over every route, wrong ones and nearly right ones: what a broken or hostile client may send.
// Made from a seeded random, so that a run can be repeated.

import { randomFiltersBody } from "./random-filters.ts";
import { buildTrack } from "./track-builder.ts";

export interface AnyRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

interface Answered {
  readonly status: number;
  readonly json: ReturnType<JSON["parse"]>;
}

type Pick = <Item>(items: readonly Item[]) => Item;

/** Statuses of 500 that the protocol requires: the fault is elsewhere. */
const PUBLISHED_FAILURES =
  /^(Can't access disabled route planner|Failed to connect to voice server|Something went wrong while looking up .*)$/;
const STATUSES = [200, 204, 400, 401, 403, 404, 405, 406, 413, 415, 429, 431];

const FIELDS = [
  ..."track encoded identifier userData encodedTrack position endTime volume paused filters voice".split(" "),
  ..."token endpoint sessionId channelId resuming timeout equalizer band gain karaoke level timescale".split(" "),
  ..."speed tremolo vibrato frequency depth distortion rotation channelMix lowPass pluginFilters".split(" "),
  ..."__proto__ constructor address resumingKey op guildId event bands key pause".split(" "),
];

/** No names among them: no DNS query may be sent. */
const SCALARS: readonly unknown[] = [
  ...[null, true, false, 0, 1, -1, 0.5, 1e21, 2 ** 31, 1e308, "", " ", "0", "true", "5", "\u0000", "😀"],
  ...["x".repeat(5000), "http://127.0.0.1:1/a.mp3", "127.0.0.1:1", "../../etc/passwd", "%00", "1".repeat(30)],
  ...[buildTrack().encoded, "QAAA"],
];

const TEXTS = ["", "{", "[]", "null", '{"volume":1e999}', "\ufeff{}", '{"volume":50.0}', "[".repeat(1000)];

const FILTERS = [
  ...[{}, { volume: 0.5 }, { volume: 9 }, { equalizer: [{ band: 3, gain: 0.2 }] }, { equalizer: [{ band: 15 }] }],
  ...[{ timescale: { speed: 2 } }, { timescale: { rate: 0 } }, { tremolo: {} }, { lowPass: null }, { karaoke: [] }],
];

/** Whether the node is at fault for an answer, or for one that the protocol does not have. */
export function isOurFault({ status, json }: Answered): boolean {
  if (status === 500) return !PUBLISHED_FAILURES.test(json?.message ?? "");
  return !STATUSES.includes(status);
}

/** A request to any route; those about sessions mostly to the given one. */
export function anyRequest(random: () => number, sessionId: string): AnyRequest {
  const pick: Pick = (items) => items[Math.floor(random() * items.length)]!; // within
  const value = (): string => encodeURIComponent(String(pick(SCALARS)).slice(0, 200));
  const session = random() < 0.9 ? sessionId : value();
  const version = pick(["/v4", "/v4", "/v4", "/v3"]);
  const player = `${version}/sessions/${session}/players/${random() < 0.8 ? Math.floor(random() * 9) : value()}`;
  const [method, path] = pick([
    ["PATCH", player],
    ["PATCH", player],
    ["PATCH", `${player}?noReplace=${value()}`],
    ["GET", player],
    ["GET", `${version}/sessions/${session}/players`],
    ["DELETE", player],
    ["PATCH", `${version}/sessions/${session}`],
    ["GET", pick(["/version", "/v4/info", "/v4/stats", "/v4/openapi.json", "/v3/info", "/v3/stats", "/plugins", "/"])],
    ["GET", `${pick(["/v4", "/v3", ""])}/loadtracks?identifier=${value()}&trace`],
    ["GET", `${pick(["/v4", "/v3", ""])}/decodetrack?encodedTrack=${value()}`],
    ["POST", `${pick(["/v4", "/v3", ""])}/decodetracks`],
    ["POST", `${pick(["/v4", "/v3", ""])}/routeplanner/free/${pick(["address", "all"])}`],
    ["GET", `${pick(["/v4", "/v3", ""])}/routeplanner/status`],
    [pick(["GET", "PUT", "TRACE", "OPTIONS", "HEAD", "QUERY"]), `/${value()}/${value()}`],
    [pick(["PUT", "TRACE", "OPTIONS", "HEAD", "QUERY", "POST"]), player],
  ] as const);
  const body = method === "PATCH" && random() < 0.2 ? { filters: randomFiltersBody(random) } : undefined;
  return { method, path, body: body === undefined ? anyText(random, pick) : JSON.stringify(body) };
}

/** Any message a client may send on its WebSocket: operations of v3, valid and invalid, and anything else. */
export function anyOperation(random: () => number): string {
  const pick: Pick = (items) => items[Math.floor(random() * items.length)]!; // within
  if (random() < 0.3) return anyText(random, pick);
  const operation = { op: pick(OPERATIONS), guildId: pick(["1", 2, "3", -4, "x"]), ...nearlyRight(pick) };
  return JSON.stringify({ ...operation, track: pick([buildTrack().encoded, "QAAA"]), position: pick(SCALARS) });
}

const OPERATIONS = [
  ..."voiceUpdate play stop destroy pause seek volume equalizer filters configureResuming nope".split(" "),
];

function anyText(random: () => number, pick: Pick): string {
  if (random() < 0.1) return pick(TEXTS);
  return JSON.stringify(random() < 0.5 ? nearlyRight(pick) : anyValue(pick, 0));
}

/** A body with members that are right, and one that may not be. */
function nearlyRight(pick: Pick): object {
  const encoded = buildTrack().encoded;
  const voice = { token: "t", endpoint: pick(["127.0.0.1:1", "a/b", "", "[::1]:1"]), sessionId: "s", channelId: "1" };
  const right = {
    volume: 50,
    paused: true,
    position: 1000,
    endTime: 5000,
    resuming: true,
    timeout: 60,
    encodedTrack: encoded,
    filters: pick(FILTERS),
    track: { encoded, userData: {} },
    voice,
    identifier: "nothing",
    pause: false,
    event: { token: "t", endpoint: "127.0.0.1:1" },
    sessionId: "s",
    bands: [{ band: 1, gain: 0.5 }],
    key: "k",
  };
  const names = Object.keys(right) as (keyof typeof right)[]; // its own keys
  const members = [pick(names), pick(names), pick(names)].map((name) => [name, right[name]] as const);
  return { ...Object.fromEntries(members), ...pick([{}, {}, { [pick(FIELDS)]: pick(SCALARS) }]) };
}

function anyValue(pick: Pick, depth: number): unknown {
  const kind = depth > 3 ? "scalar" : pick(depth === 0 ? ["object"] : ["scalar", "scalar", "object", "list"]);
  if (kind === "scalar") return pick(SCALARS);
  if (kind === "list") return [anyValue(pick, depth + 1), anyValue(pick, depth + 1)];
  const names = [pick(FIELDS), pick(FIELDS), pick(FIELDS)];
  return Object.fromEntries(names.map((name) => [name, anyValue(pick, depth + 1)]));
}
