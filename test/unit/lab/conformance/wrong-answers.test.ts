// The conformance kit finds wrong answers: a node that keeps its rules is put behind a proxy that breaks one at a time,
// and the check for that rule must fail. So a check that can never fail would be seen.

import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { CHECKS } from "../../../../lab/conformance/checks.ts";
import { formatResults } from "../../../../lab/conformance/report.ts";
import { type CheckResult, runChecks } from "../../../../lab/conformance/run-checks.ts";
import { ApiServer, PASSWORD } from "../../../support/api-server.ts";
import { type TamperedAnswer, type Tampering, TamperingProxy } from "../../../support/tampering-proxy.ts";

let server: ApiServer;
let proxy: TamperingProxy;

beforeAll(async () => {
  server = await ApiServer.start();
  proxy = await TamperingProxy.start(server.port);
});
afterEach(() => {
  proxy.tampering = {};
});
afterAll(async () => {
  await proxy.close();
  await server.close();
});

/** Changes the JSON of every answer that has some. */
function inJson(change: (json: ReturnType<JSON["parse"]>) => void): Tampering {
  return {
    answer(answer) {
      if (!answer.body.startsWith("{") && !answer.body.startsWith("[")) return;
      const json = JSON.parse(answer.body);
      change(json);
      answer.body = JSON.stringify(json);
    },
  };
}

function inAnswer(change: (answer: TamperedAnswer) => void): Tampering {
  return { answer: change };
}

function status(from: number, to: number): Tampering {
  return inAnswer((answer) => {
    if (answer.status === from) answer.status = to;
  });
}

function inMessage(change: (message: ReturnType<JSON["parse"]>) => void): Tampering {
  return {
    message(text) {
      const message = JSON.parse(text);
      change(message);
      return JSON.stringify(message);
    },
  };
}

const WRONG: readonly (readonly [check: string, tampering: Tampering])[] = [
  ["GET /v4/info without a password is 401 and empty", status(401, 403)],
  ["GET /v4/stats with a wrong password is 403 and empty", status(403, 401)],
  [
    "an unknown path is 404 also without a password",
    inJson((json) => {
      json.message = "Not Found";
    }),
  ],
  ["a wrong method is 405 with Allow also without a password", inAnswer(({ headers }) => void delete headers.allow)],
  ["GET /version needs no password", status(200, 401)],
  [
    "Lavalink-Api-Version: 4 on 200 of GET /v4/info",
    inAnswer(({ headers }) => void delete headers["lavalink-api-version"]),
  ],
  [
    "the error object has its members in order and no others",
    inJson((json) => {
      json.extra = 1;
    }),
  ],
  ["trace=true adds a trace between error and message", inJson((json) => void delete json.trace)],
  ["an unknown session is 404", status(404, 400)],
  [
    "PATCH player with endTime 0 is 400",
    inJson((json) => {
      json.message = "no";
    }),
  ],
  [
    "PATCH player accepts volume above 1000 becomes 1000",
    inJson((json) => {
      json.volume = 5000;
    }),
  ],
  ["stats over REST have null frameStats", inJson((json) => void delete json.frameStats)],
  [
    "info says version 4, as clients check it",
    inJson((json) => {
      json.version.major = 3;
    }),
  ],
  [
    "info lists the filter karaoke",
    inJson((json) => {
      json.filters = json.filters.filter((name: string) => name !== "karaoke");
    }),
  ],
  [
    "endless length keeps every digit",
    inAnswer((answer) => {
      answer.body = answer.body.replace("9223372036854775807", "9223372036854776000");
    }),
  ],
  [
    "version 2 is read",
    inJson((json) => {
      json.info.uri = null;
    }),
  ],
  ["decodetracks keeps the order", inJson((json) => void json.reverse?.())],
  [
    "an empty identifier is empty",
    inJson((json) => {
      json.loadType = "error";
    }),
  ],
  [
    "settings begin as not resuming, 60 seconds",
    inJson((json) => {
      json.timeout = 0;
    }),
  ],
  [
    "an empty PATCH makes a player with all defaults",
    inJson((json) => {
      json.surprise = true;
    }),
  ],
  [
    "a guild id is text and keeps its 64 bits",
    inJson((json) => {
      json.guildId = Number(json.guildId);
    }),
  ],
  ["DELETE is 204 without a body and removes the player", status(204, 200)],
  [
    "position is where a new track starts",
    inJson((json) => {
      json.state.position = 0;
    }),
  ],
  ["a refused update changes nothing and creates no player", status(404, 200)],
  ["tremolo {} is returned with every member", inJson((json) => void delete json.filters.tremolo.depth)],
  [
    "filters {} clears all filters",
    inJson((json) => {
      json.filters = { volume: 0.5 };
    }),
  ],
  ["no User-Id is 400", {}],
  [
    "ready has op, resumed and a session id of 16 letters and digits",
    inMessage((message) => {
      if (message.op === "ready") message.more = 1;
    }),
  ],
  [
    "stats come at once, with every member",
    inMessage((message) => {
      if (message.op === "stats") delete message.cpu.cores;
    }),
  ],
  [
    "filters send one playerUpdate, also without a track",
    { message: (text) => (text.includes("playerUpdate") ? undefined : text) },
  ],
];

async function run(name: string, url: string): Promise<CheckResult> {
  const [result] = await runChecks({ url, password: PASSWORD, isSelected: (check) => check.name === name });
  if (result === undefined) throw new Error(`no check is called ${name}`);
  return result;
}

test.each(WRONG)("a wrong answer is found: %s", async (name, tampering) => {
  expect(await run(name, `http://127.0.0.1:${server.port}`)).toMatchObject({ outcome: "pass" });
  proxy.tampering = tampering;
  const result = await run(name, proxy.url);
  expect(result).toMatchObject({ outcome: "fail", expected: expect.any(String), actual: expect.any(String) });
  expect(formatResults([result])).toContain("0 passed, 1 failed, 0 skipped");
});

test("a check that cannot be carried out is skipped with a reason", async () => {
  const result = await run("missing tags are reported as unknown", `http://127.0.0.1:${server.port}`);
  expect(result).toMatchObject({ outcome: "skip", reason: expect.stringContaining("media server") });
});

test("every check has a unique name and cites its rule", () => {
  const names = CHECKS.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  expect(CHECKS.filter(({ rule }) => !/^(spec|sheet|recording|design|discord-voice)/.test(rule))).toEqual([]);
});
