// Replays every recorded REST case against our API: real sockets, sessions and players, workers that render no audio. A
// case matches in status, headers, body and session messages, or it is listed in DIFFERENCES with our answer and the
// reason, or in NEEDS_WHOLE_NODE.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toWireError } from "../../../../src/bridge/wire-error.ts";
import { NodeError } from "../../../../src/errors.ts";
import { type Answer, ApiServer, PASSWORD, type TestClient } from "../../../support/api-server.ts";
import { comparable, type GoldenCase, type GoldenStep, type Parsed, readRestCases } from "../../../support/golden.ts";
import { DIFFERENCES, NEEDS_WHOLE_NODE } from "./golden-differences.ts";

/** Sent before a case that was recorded on top of another one's effects. */
const PREPARATIONS: Readonly<Record<string, readonly [path: string, body: object][]>> = {
  "player-create-empty-obj": ["9223372036854775807", "-5", "0", "5", "7", "16"].map((id) => [`/players/${id}`, {}]),
  "player-guild-hex-get": [["/players/16", {}]],
  "player-guild-neg-get": [["/players/-5", {}]],
  "player-guild-plus-get": [["/players/5", {}]],
  "player-guild-space-get": [["/players/5", {}]],
  "session-duplicate-key": [["", { resuming: true }]],
  "session-resuming-string": [["", { timeout: "9223372036854775807" }]],
  "session-timeout-0": [["", { resuming: true }]],
  "session-timeout-30": [["", { resuming: true }]],
  "session-timeout-huge": [["", { resuming: true }]],
  "session-timeout-neg": [["", { resuming: true }]],
  "session-timeout-string": [["", { resuming: true }]],
};

let server: ApiServer;

beforeAll(async () => {
  server = await ApiServer.start({
    load: async (identifier) =>
      identifier === "http://127.0.0.1:1/x.mp3"
        ? { kind: "error", error: toWireError(new NodeError("load-failed", "the connection was refused")) }
        : { kind: "empty" },
  });
});

afterAll(() => server.close());

const cases = readRestCases();
const isWalked = (golden: GoldenCase): boolean => !NEEDS_WHOLE_NODE.some(({ applies }) => applies(golden));

describe("every recorded REST case", () => {
  test.each(cases.filter(isWalked).map((golden) => [golden.name, golden] as const))("%s", async (_name, golden) => {
    const client = await server.connect();
    for (const [path, body] of PREPARATIONS[golden.name] ?? []) {
      await server.request("PATCH", `/v4/sessions/${client.sessionId}${path}`, { body });
    }
    await client.flushed();
    for (const [index, step] of golden.steps.entries()) {
      const seen = client.messages.length;
      const answer = await ask(client, step);
      await client.flushed();
      const messages = client.messages.slice(seen);
      compareStep({ golden, index, answer, messages, sessionId: client.sessionId });
    }
    client.socket.terminate();
  });

  test("every listed difference of the REST cases is one", () => {
    const names = cases.map(({ name }) => name);
    expect(DIFFERENCES.flatMap((difference) => difference.names).filter((name) => !names.includes(name))).toEqual([]);
  });
});

function ask(client: TestClient, { request }: GoldenStep): Promise<Answer> {
  const { method, path, headers, body } = request;
  return server.request(method, path.replaceAll("{session}", client.sessionId), {
    headers,
    password: null,
    ...(body === null ? {} : { body }),
  });
}

interface WalkedStep {
  readonly golden: GoldenCase;
  readonly index: number;
  readonly answer: Answer;
  readonly messages: readonly Parsed[];
  readonly sessionId: string;
}

function compareStep(walked: WalkedStep): void {
  const { golden, index, answer, messages, sessionId } = walked;
  const difference = DIFFERENCES.find(({ names }) => names.includes(golden.name))?.steps[index];
  if (difference !== undefined) {
    const { status, message, headers } = answerParts(answer);
    expect({ status, message, headers, body: answer.json ?? answer.body }).toMatchObject(difference);
    return;
  }
  const step = golden.steps[index]!; // the index comes from these steps
  const { response } = step;
  expect(answer.status).toBe(response.status);
  for (const [name, value] of response.headers) {
    expect(`${name}: ${answer.headers[name.toLowerCase()]}`).toContain(name === "Vary" ? value : `${name}: ${value}`);
  }
  if (response.json?.sourceManagers !== undefined) compareInfo(answer.json, response.json);
  else if (response.json === null) expect(answer.body).toBe(response.body ?? "");
  else expect(inOrder(comparable(answer.json))).toEqual(inOrder(comparable(withSession(response.json, sessionId))));
  compareMessages(messages, step);
}

function answerParts({ status, json, headers }: Answer) {
  return { status, message: json?.message, headers };
}

/** Values are ours, names and types are the protocol's. */
function compareInfo(actual: Parsed, recorded: Parsed): void {
  for (const [key, value] of Object.entries(recorded)) {
    expect([key, typeof actual[key]]).toEqual([key, typeof value]);
  }
  expect(Object.keys(actual.version)).toEqual(Object.keys(recorded.version));
  expect(Object.keys(actual.git)).toEqual(Object.keys(recorded.git));
  expect(actual.version.major).toBe(recorded.version.major);
  // Those of Lavalink's plugins come after them.
  expect(actual.filters.slice(0, recorded.filters.length)).toEqual(recorded.filters);
}

/**
 * Events in their order, player updates by number: they have no fixed position. Other guilds were still being served.
 */
function compareMessages(messages: readonly Parsed[], { request, ws }: GoldenStep): void {
  const guildId = /\/players\/(\d+)/.exec(request.path)?.[1];
  const ofGuild = (all: readonly Parsed[]) => all.filter((message) => message.guildId === guildId);
  const recorded = (ws ?? []).map(({ msg }) => msg);
  const isEvent = ({ op }: Parsed): boolean => op === "event";
  expect(ofGuild(messages).filter(isEvent).map(comparable)).toEqual(ofGuild(recorded).filter(isEvent).map(comparable));
  const updates = (all: readonly Parsed[]) =>
    ofGuild(all)
      .filter(({ op }) => op === "playerUpdate")
      .map(comparable);
  expect(updates(messages)).toEqual(updates(recorded));
}

/** Lists of players have no order. */
function inOrder(json: Parsed): Parsed {
  return Array.isArray(json) && json[0]?.guildId !== undefined
    ? json.toSorted((first, second) => String(first.guildId).localeCompare(second.guildId))
    : json;
}

function withSession(json: Parsed, sessionId: string): Parsed {
  return JSON.parse(JSON.stringify(json).replaceAll("{session}", sessionId));
}

test("the recordings were made with the password of the tests", () => {
  expect(cases.some(({ steps }) => steps[0]?.request.headers.Authorization === PASSWORD)).toBe(true);
});
