// Headers of every answer, and the routes about the node itself: version, info, stats, route planner.

import { type Check, checksOf } from "../workbench/check.ts";
import {
  anInteger,
  aString,
  atLeast,
  exactly,
  expectMatch,
  listOf,
  matching,
  oneOf,
  someText,
  where,
} from "../workbench/expectation.ts";
import type { RequestOptions } from "../workbench/node-client.ts";
import { expectErrorAmong, STATS } from "../workbench/shapes.ts";

const FILTER_NAMES = [
  "volume",
  "equalizer",
  "karaoke",
  "timescale",
  "tremolo",
  "vibrato",
  "distortion",
  "rotation",
  "channelMix",
  "lowPass",
] as const;

const anInfoVersion = exactly({
  semver: someText,
  major: anInteger,
  minor: anInteger,
  patch: anInteger,
  preRelease: oneOf(aString, null),
});

const aNumberText = matching(/^\d+$/);

const PLANNER_DETAILS = {
  ipBlock: exactly({ type: matching(/^Inet[46]Address$/), size: aNumberText }),
  failingAddresses: listOf(
    exactly({
      failingAddress: matching(/^\/[0-9a-f.:]+$/),
      failingTimestamp: anInteger,
      failingTime: matching(/^\w{3} \w{3} \d\d \d\d:\d\d:\d\d .+ \d{4}$/),
    }),
  ),
};

/** Further members of the details, by class. */
const PLANNER_OWN_DETAILS: Readonly<Record<string, object>> = {
  RotatingIpRoutePlanner: { rotateIndex: aNumberText, ipIndex: aNumberText, currentAddress: aString },
  NanoIpRoutePlanner: { currentAddressIndex: aNumberText },
  RotatingNanoIpRoutePlanner: { blockIndex: aNumberText, currentAddressIndex: aNumberText },
  BalancingIpRoutePlanner: {},
};

const ANSWERS: readonly (readonly [status: number, method: string, path: string, options: RequestOptions])[] = [
  [200, "GET", "/v4/info", {}],
  [200, "GET", "/version", {}],
  [400, "GET", "/v4/loadtracks", {}],
  [401, "GET", "/v4/info", { password: null }],
  [403, "GET", "/v4/info", { password: "wrong password" }],
  [404, "GET", "/v4/nope", {}],
  [405, "PUT", "/v4/info", {}],
  [415, "POST", "/v4/decodetracks", { body: "x", headers: { "Content-Type": "text/plain" } }],
];

export const generalChecks: readonly Check[] = [
  ...ANSWERS.flatMap(([status, method, path, options]) =>
    checksOf("info", [
      [
        `Lavalink-Api-Version: 4 on ${status} of ${method} ${path}`,
        "sheet 1.1",
        async ({ http }) => {
          const reply = await http.request(method, path, options);
          expectMatch([reply.status, reply.headers["lavalink-api-version"]], [status, "4"], "status and header");
        },
      ],
    ]),
  ),
  ...FILTER_NAMES.flatMap((name) =>
    checksOf("info", [
      [
        `info lists the filter ${name}`,
        "sheet 3.6",
        async ({ http }) => {
          const { json } = await http.get("/v4/info");
          expectMatch(
            json?.filters,
            where(`a list with ${name}`, (filters) => (filters as string[]).includes(name)),
          );
        },
      ],
    ]),
  ),
  ...checksOf("info", [
    [
      "GET /version is plain text",
      "spec Information; sheet 1.1",
      async ({ http }) => {
        const reply = await http.get("/version");
        expectMatch(reply.headers["content-type"], matching(/^text\/plain/), "content type");
        expectMatch(reply.text, matching(/^\S+$/), "body");
      },
    ],
    [
      "info is JSON",
      "sheet 1.1",
      async ({ http }) => {
        const { headers } = await http.get("/v4/info");
        expectMatch(headers["content-type"], matching(/^application\/json/), "content type");
      },
    ],
    [
      "info has every member of the specification",
      "spec Server information; sheet 3.6",
      async ({ http }) => {
        const expected = {
          version: anInfoVersion,
          buildTime: anInteger,
          git: exactly({ branch: aString, commit: aString, commitTime: anInteger }),
          jvm: someText,
          sourceManagers: listOf(someText),
          filters: listOf(someText),
          plugins: listOf({ name: someText, version: aString }),
        };
        expectMatch((await http.get("/v4/info")).json, expected, "info");
      },
    ],
    [
      "info names its audio library as clients know it",
      "sheet 0.3 row 2",
      async ({ http }) => expectMatch((await http.get("/v4/info")).json?.lavaplayer, someText, "lavaplayer"),
    ],
    [
      "info says version 4, as clients check it",
      "design 7",
      async ({ http }) => expectMatch((await http.get("/v4/info")).json?.version?.major, 4, "version.major"),
    ],
    [
      "info has no isNodelink",
      "sheet 3.6",
      async ({ http }) => expectMatch((await http.get("/v4/info")).json?.isNodelink, undefined, "isNodelink"),
    ],
    [
      "info lists the http source last",
      "sheet 6.3",
      async ({ http }) => {
        const { json } = await http.get("/v4/info");
        expectMatch(json?.sourceManagers?.at(-1), "http", "last source");
      },
    ],
    [
      "stats over REST have null frameStats",
      "spec Statistics",
      async ({ http }) => expectMatch((await http.get("/v4/stats")).json, exactly({ frameStats: null, ...STATS })),
    ],
    [
      "loads are shares from 0 to 1",
      "sheet 3.7",
      async ({ http }) => {
        const share = where("a number from 0 to 1", (value) => Number(value) >= 0 && Number(value) <= 1);
        const { json } = await http.get("/v4/stats");
        expectMatch(json?.cpu, { cores: atLeast(1), systemLoad: share, lavalinkLoad: share }, "cpu");
      },
    ],
    [
      "uptime grows",
      "spec Statistics",
      async ({ http }) => {
        const before = (await http.get("/v4/stats")).json?.uptime;
        const after = (await http.get("/v4/stats")).json?.uptime;
        expectMatch(after, atLeast(before), "uptime");
      },
    ],
    [
      "stats count a player that was created",
      "spec Statistics",
      async (bench) => {
        await (await bench.player()).update({});
        expectMatch((await bench.http.get("/v4/stats")).json?.players, atLeast(1), "players");
      },
    ],
    [
      "HEAD works where GET does",
      "sheet 1.1",
      async ({ http }) => {
        const reply = await http.request("HEAD", "/v4/info");
        expectMatch([reply.status, reply.text], [200, ""], "status and body");
      },
    ],
    [
      "OPTIONS answers with Allow",
      "sheet 1.1",
      async ({ http }) => {
        const reply = await http.request("OPTIONS", "/v4/info");
        expectMatch([reply.status, reply.headers.allow], [200, matching(/GET/)], "status and Allow");
      },
    ],
    [
      "an Accept without JSON is 406 and empty",
      "sheet 1.1",
      async ({ http }) => {
        const reply = await http.get("/v4/info", { headers: { Accept: "text/plain" } });
        expectMatch([reply.status, reply.text], [406, ""], "status and body");
      },
    ],
    [
      "the route planner's status is 204 without a planner, else has the members of its class",
      "spec Route planner; sheet 3.8",
      async ({ http }) => {
        const reply = await http.get("/v4/routeplanner/status");
        if (reply.status !== 200) return expectMatch([reply.status, reply.text], [204, ""], "status and body");
        const { class: name } = reply.json as { readonly class: string }; // the next line fails for anything else
        expectMatch(name, oneOf(...Object.keys(PLANNER_OWN_DETAILS)), "class");
        const details = exactly({ ...PLANNER_DETAILS, ...PLANNER_OWN_DETAILS[name] });
        expectMatch(reply.json, exactly({ class: name, details }), "status");
      },
    ],
    [
      "freeing an invalid address is refused, or an error without a planner",
      "spec Route planner; sheet 1.4",
      async ({ http }) => {
        const body = { address: "no address" };
        expectErrorAmong(await http.request("POST", "/v4/routeplanner/free/address", { body }), [400, 500]);
      },
    ],
    [
      "free/all answers 204, or an error object without a planner",
      "spec Route planner; sheet 1.4",
      async ({ http }) => {
        const reply = await http.request("POST", "/v4/routeplanner/free/all");
        if (reply.status === 204) expectMatch(reply.text, "", "body");
        else expectErrorAmong(reply, [400, 500]);
      },
    ],
  ]),
];
