// Refused requests, their statuses and messages, and which malformed requests are accepted.

import { type Check, checksOf } from "../workbench/check.ts";
import { expectMatch, matching, oneOf, someText } from "../workbench/expectation.ts";
import type { RequestOptions } from "../workbench/node-client.ts";
import { expectError, expectErrorAmong, expectStatus } from "../workbench/shapes.ts";

const VOICE = { token: "t", endpoint: "localhost:1", sessionId: "s", channelId: "1" };
const VOICE_INCOMPLETE = "token, endpoint, sessionId and channelId must be provided in voice state";
const BAD_REQUEST = matching(/^Bad Request/);

/** Bodies of PATCH player that are refused before anything changes. */
const REFUSED_UPDATES: readonly (readonly [name: string, body: unknown, message: unknown])[] = [
  ["no body", undefined, undefined],
  ["an empty body", "", undefined],
  ["a body that is no JSON", "{", BAD_REQUEST],
  ["a list", [], BAD_REQUEST],
  ["a text as root", '"x"', BAD_REQUEST],
  ["volume as a list", { volume: [1] }, BAD_REQUEST],
  ["volume as a fraction", { volume: 50.5 }, BAD_REQUEST],
  ["volume null", { volume: null }, BAD_REQUEST],
  ["position null", { position: null }, BAD_REQUEST],
  ["paused as a number", { paused: 1 }, BAD_REQUEST],
  ['paused as "yes"', { paused: "yes" }, BAD_REQUEST],
  ["paused null", { paused: null }, BAD_REQUEST],
  ["track null", { track: null }, BAD_REQUEST],
  ["track.encoded as a number", { track: { encoded: 5 } }, BAD_REQUEST],
  ["track.identifier null", { track: { identifier: null } }, BAD_REQUEST],
  ["track.userData as a text", { track: { userData: "x" } }, BAD_REQUEST],
  ["filters null", { filters: null }, BAD_REQUEST],
  ["filters as a list", { filters: [] }, BAD_REQUEST],
  ["filters.volume null", { filters: { volume: null } }, BAD_REQUEST],
  ["filters.equalizer null", { filters: { equalizer: null } }, BAD_REQUEST],
  ["an equalizer entry without band", { filters: { equalizer: [{ gain: 0.1 }] } }, BAD_REQUEST],
  ["voice null", { voice: null }, BAD_REQUEST],
  ["voice without token", { voice: { ...VOICE, token: undefined } }, BAD_REQUEST],
  ["voice.endpoint null", { voice: { ...VOICE, endpoint: null } }, BAD_REQUEST],
  ["voice.token blank", { voice: { ...VOICE, token: " " } }, VOICE_INCOMPLETE],
  ["voice.endpoint empty", { voice: { ...VOICE, endpoint: "" } }, VOICE_INCOMPLETE],
  ["voice.sessionId empty", { voice: { ...VOICE, sessionId: "" } }, VOICE_INCOMPLETE],
  ["voice.channelId empty", { voice: { ...VOICE, channelId: "" } }, VOICE_INCOMPLETE],
  ["voice.channelId null", { voice: { ...VOICE, channelId: null } }, VOICE_INCOMPLETE],
  ["endTime 0", { endTime: 0 }, "End time must be greater than 0"],
  ["a negative endTime", { endTime: -1 }, "End time must be greater than 0"],
  [
    "track next to encodedTrack",
    { track: {}, encodedTrack: "x" },
    "Cannot specify both track and encodedTrack/identifier",
  ],
  ["track next to identifier", { track: {}, identifier: "x" }, "Cannot specify both track and encodedTrack/identifier"],
  [
    "encoded next to identifier",
    { track: { encoded: "x", identifier: "x" } },
    "Cannot specify both encodedTrack and identifier",
  ],
  [
    "encodedTrack next to identifier",
    { encodedTrack: "x", identifier: "x" },
    "Cannot specify both encodedTrack and identifier",
  ],
  ["an identifier that finds nothing", { track: { identifier: "" } }, "No matches found for identifier"],
];

/** Requests anywhere that are refused. */
const REFUSED_REQUESTS: readonly (readonly [
  name: string,
  method: string,
  path: string,
  options: RequestOptions,
  status: number,
  message: unknown,
])[] = [
  ["an unknown path", "GET", "/v4/nope", {}, 404, "No endpoint GET /v4/nope."],
  ["a trailing slash", "GET", "/v4/info/", {}, 404, "No endpoint GET /v4/info/."],
  ["another case of a path", "GET", "/v4/INFO", {}, 404, "No endpoint GET /v4/INFO."],
  ["POST on a GET route", "POST", "/v4/stats", { body: {} }, 405, "Method 'POST' is not supported."],
  ["PUT on a player", "PUT", "/v4/sessions/x/players/1", { body: {} }, 405, "Method 'PUT' is not supported."],
  ["an unknown session", "GET", "/v4/sessions/nope/players", {}, 404, "Session not found"],
  ["a player of an unknown session", "GET", "/v4/sessions/nope/players/1", {}, 404, "Session not found"],
  ["an update in an unknown session", "PATCH", "/v4/sessions/nope/players/1", { body: {} }, 404, "Session not found"],
  ["a deletion in an unknown session", "DELETE", "/v4/sessions/nope/players/1", {}, 404, "Session not found"],
  ["settings of an unknown session", "PATCH", "/v4/sessions/nope", { body: {} }, 404, "Session not found"],
  ["a broken body for an unknown session", "PATCH", "/v4/sessions/nope/players/1", { body: [] }, 400, BAD_REQUEST],
  ["a guild id of letters, whatever the session", "GET", "/v4/sessions/nope/players/abc", {}, 400, BAD_REQUEST],
  ["a guild id beyond 64 bits", "GET", "/v4/sessions/nope/players/9223372036854775808", {}, 400, BAD_REQUEST],
  [
    "loadtracks without identifier",
    "GET",
    "/v4/loadtracks",
    {},
    400,
    "Required parameter 'identifier' is not present.",
  ],
  ["decodetrack without a track", "GET", "/v4/decodetrack", {}, 400, "No track to decode provided"],
  ["decodetracks with an empty list", "POST", "/v4/decodetracks", { body: [] }, 400, "No tracks to decode provided"],
  ["decodetracks with an object", "POST", "/v4/decodetracks", { body: {} }, 400, BAD_REQUEST],
  [
    "a body without content type",
    "POST",
    "/v4/decodetracks",
    { body: "[]" },
    415,
    "Content-Type 'application/octet-stream' is not supported.",
  ],
  [
    "a body of plain text",
    "POST",
    "/v4/decodetracks",
    { body: "[]", headers: { "Content-Type": "text/plain" } },
    415,
    matching(/^Content-Type 'text\/plain.*' is not supported\.$/),
  ],
  ["free/address without an address", "POST", "/v4/routeplanner/free/address", { body: {} }, 400, someText],
];

/** Updates that are accepted though they are malformed, and the resulting player. */
const FORGIVEN_UPDATES: readonly (readonly [name: string, body: unknown, player: object])[] = [
  ["unknown members", { nonsense: 1, track: { nonsense: 2 }, filters: { nonsense: 3 } }, { volume: 100, filters: {} }],
  ["a number as text", { volume: "50" }, { volume: 50 }],
  ["a switch as text", { paused: "true" }, { paused: true }],
  ["a whole number with an exponent", '{"volume": 1e1}', { volume: 10 }],
  ["volume above 1000 becomes 1000", { volume: 5000 }, { volume: 1000 }],
  ["volume below 0 becomes 0", { volume: -5 }, { volume: 0 }],
  ["a position without a track", { position: 5000 }, { track: null, state: { position: 0 } }],
  ["an end time without a track", { endTime: 5000 }, { track: null }],
  ["endTime null", { endTime: null }, { track: null }],
  ["encoded null without a track", { track: { encoded: null } }, { track: null }],
  ["encodedTrack null without a track", { encodedTrack: null }, { track: null }],
];

const JSON_TYPE = { headers: { "Content-Type": "application/json" } };

export const errorChecks: readonly Check[] = [
  ...REFUSED_REQUESTS.flatMap(([name, method, path, options, status, message]) =>
    checksOf("errors", [
      [
        `${name} is ${status}`,
        "sheet 1.4",
        async ({ http }) => expectError(await http.request(method, path, options), status, message),
      ],
    ]),
  ),
  ...REFUSED_UPDATES.flatMap(([name, body, message]) =>
    checksOf("errors", [
      [
        `PATCH player with ${name} is 400`,
        "sheet 1.4",
        async (bench) => {
          const player = await bench.player();
          expectError(await player.patch(body, "", JSON_TYPE), 400, message);
        },
      ],
    ]),
  ),
  ...FORGIVEN_UPDATES.flatMap(([name, body, expected]) =>
    checksOf("errors", [
      [
        `PATCH player accepts ${name}`,
        "sheet 1.5 and 2.6",
        async (bench) => {
          const player = await bench.player();
          const reply = await player.patch(body, "", JSON_TYPE);
          expectStatus(reply, 200);
          expectMatch(reply.json, expected, "player");
        },
      ],
    ]),
  ),
  ...(["abc", "", "2"] as const).flatMap((value) =>
    checksOf("errors", [
      [
        `noReplace=${value} is 400`,
        "sheet 1.4",
        async (bench) => expectError(await (await bench.player()).patch({}, `?noReplace=${value}`), 400, BAD_REQUEST),
      ],
    ]),
  ),
  ...(["true", "false", "on", "off", "yes", "no", "1", "0"] as const).flatMap((value) =>
    checksOf("errors", [
      [
        `noReplace=${value} is accepted`,
        "sheet 1.4",
        async (bench) => expectStatus(await (await bench.player()).patch({}, `?noReplace=${value}`), 200),
      ],
    ]),
  ),
  ...checksOf("errors", [
    [
      "a query with a % that escapes nothing is 400",
      "sheet 1.4, Bad Request as upstream",
      async ({ http }) => expectStatus(await http.get("/v4/loadtracks?identifier=%zz"), 400),
    ],
    [
      "the error object has its members in order and no others",
      "sheet 1.3",
      async ({ http }) => {
        const { json } = await http.get("/v4/nope?x=1");
        expectMatch(Object.keys(json ?? {}), ["timestamp", "status", "error", "message", "path"], "members");
      },
    ],
    [
      "the path of the error object has no query",
      "sheet 1.3",
      async ({ http }) => expectMatch((await http.get("/v4/nope?x=1")).json?.path, "/v4/nope", "path"),
    ],
    [
      "errors are JSON",
      "sheet 1.3",
      async ({ http }) =>
        expectMatch((await http.get("/v4/nope")).headers["content-type"], matching(/^application\/json/), "type"),
    ],
    [
      "trace=true adds a trace between error and message",
      "spec Errors; sheet 1.3",
      async ({ http }) => {
        const { json } = await http.get("/v4/sessions/nope/players?trace=true");
        const members = ["timestamp", "status", "error", "trace", "message", "path"];
        expectMatch(Object.keys(json ?? {}), members, "members");
        expectMatch(json.trace, someText, "trace");
      },
    ],
    [
      "an empty trace adds it too",
      "sheet 0.3 row 12",
      async ({ http }) => expectMatch((await http.get("/v4/sessions/nope/players?trace=")).json?.trace, someText),
    ],
    [
      "trace=false adds none",
      "sheet 1.3",
      async ({ http }) =>
        expectMatch((await http.get("/v4/sessions/nope/players?trace=false")).json?.trace, undefined, "trace"),
    ],
    [
      "trace=true changes no answer that succeeds",
      "sheet 1.3",
      async (bench) => {
        const player = await bench.player();
        expectStatus(await player.patch({}, "?trace=true&noReplace=false"), 200);
      },
    ],
    [
      "an unknown player is 404",
      "sheet 1.4",
      async (bench) => expectError(await (await bench.player()).get(), 404, "Player not found"),
    ],
    [
      "a negative guild id is a number like others",
      "sheet 1.4",
      async (bench) => {
        const { sessionId } = await bench.session();
        expectError(await bench.http.get(`/v4/sessions/${sessionId}/players/-5`), 404, "Player not found");
      },
    ],
    [
      "an encoded track of wrong characters is refused",
      "sheet 1.4; recording decode-notb64",
      async (bench) => expectErrorAmong(await bench.decode("!!!"), [400, 500]),
    ],
    [
      "a truncated encoded track is refused",
      "sheet 1.4",
      async (bench) => expectErrorAmong(await bench.decode("QAAAjQMADkZ1bGwgRGV0YWls"), [400, 500]),
    ],
    [
      "an equalizer band beyond 14 is refused",
      "sheet 1.4",
      async (bench) => {
        const player = await bench.player();
        expectErrorAmong(await player.patch({ filters: { equalizer: [{ band: 15, gain: 0.1 }] } }), [400, 500]);
      },
    ],
    [
      "an identifier that is not a single track is refused",
      "sheet 1.4",
      async (bench) => {
        const player = await bench.player();
        const identifier = bench.url("500");
        const message = oneOf(matching(/^Something went wrong while looking up the track/), someText);
        expectError(await player.patch({ track: { identifier } }), 400, message);
      },
      "media",
    ],
  ]),
];
