import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../../../support/api-server.ts";
import { seededRandom } from "../../../support/seeded-random.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const REQUEST_COUNT = 800;
/** Everything that a request which is not our fault may be answered with. */
const STATUSES = [200, 204, 400, 401, 403, 404, 405, 406, 413, 415];
const FIELDS = [
  ..."track encoded identifier userData encodedTrack position endTime volume paused filters voice".split(" "),
  ..."token endpoint sessionId channelId resuming timeout equalizer band gain karaoke level timescale".split(" "),
  ..."speed tremolo vibrato frequency depth distortion rotation channelMix lowPass pluginFilters".split(" "),
  ..."__proto__ constructor address".split(" "),
];

let server: ApiServer;

beforeAll(async () => {
  server = await ApiServer.start();
});

afterAll(() => server.close());

test("whatever is sent, it is answered and it is not our fault", async () => {
  const seed = Date.now() % 2 ** 32;
  console.log(`seed ${seed}`);
  const random = seededRandom(seed);
  const [client, other] = [await server.connect(), await server.connect({ "User-Id": "2" })];
  await server.request("PATCH", `/v4/sessions/${other.sessionId}/players/1`, { body: { volume: 42 } });
  for (let count = 0; count < REQUEST_COUNT; count++) {
    const { method, path, body } = anyRequest(random, client.sessionId);
    const answer = await server.request(method, path, { body, headers: { "Content-Type": "application/json" } });
    expect([method, path, body, STATUSES.includes(answer.status)]).toEqual([method, path, body, true]);
    if (answer.status >= 400 && answer.body !== "") expect(answer.json.status).toBe(answer.status);
  }
  await Promise.all([client.flushed(), other.flushed()]);
  const untouched = await server.request("GET", `/v4/sessions/${other.sessionId}/players`);
  expect(untouched.json).toMatchObject([{ guildId: "1", volume: 42, track: null }]);
});

function anyRequest(random: () => number, sessionId: string) {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!; // within
  const value = (): string => encodeURIComponent(String(pick(SCALARS)).slice(0, 200));
  const session = random() < 0.9 ? sessionId : value();
  const player = `/v4/sessions/${session}/players/${random() < 0.8 ? Math.floor(random() * 9) : value()}`;
  const [method, path] = pick([
    ["PATCH", player],
    ["PATCH", player],
    ["PATCH", `${player}?noReplace=${value()}`],
    ["GET", player],
    ["DELETE", player],
    ["PATCH", `/v4/sessions/${session}`],
    ["GET", `/v4/loadtracks?identifier=${value()}&trace`],
    ["GET", `/v4/decodetrack?encodedTrack=${value()}`],
    ["POST", "/v4/decodetracks"],
    ["POST", "/v4/routeplanner/free/address%20"],
    ["GET", `/${value()}/${value()}`],
  ] as const);
  return { method, path, body: random() < 0.9 ? JSON.stringify(anyValue(pick, 0)) : pick(TEXTS) };
}

const SCALARS: readonly unknown[] = [
  ...[
    null,
    true,
    false,
    0,
    1,
    -1,
    0.5,
    1e21,
    2 ** 31,
    1e308,
    "",
    " ",
    "0",
    "true",
    "5",
    "NaN",
    "\u0000",
    "😀",
    "x".repeat(5000),
  ],
  ...[buildTrack().encoded, "QAAA", "http://media.example/", "a:1", "../../etc/passwd", "%00", "1".repeat(30)],
];

const TEXTS = ["", "{", "[]", "null", '{"volume":1e999}', "\ufeff{}", '{"volume":50.0}', "[".repeat(1000)];

function anyValue(pick: <Item>(items: readonly Item[]) => Item, depth: number): unknown {
  const kind = depth > 3 ? "scalar" : pick(depth === 0 ? ["object"] : ["scalar", "scalar", "object", "list"]);
  if (kind === "scalar") return pick(SCALARS);
  if (kind === "list") return [anyValue(pick, depth + 1), anyValue(pick, depth + 1)];
  const names = [pick(FIELDS), pick(FIELDS), pick(FIELDS)];
  return Object.fromEntries(names.map((name) => [name, anyValue(pick, depth + 1)]));
}
