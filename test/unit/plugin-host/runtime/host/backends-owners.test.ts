import { beforeEach, describe, expect, test } from "vitest";
import { type Owner, Owners } from "../../../../../src/lib/owners.ts";
import { SourceError } from "../../../../../src/plugin-api/plugin.ts";
import { runWork } from "../../../../../src/plugin-host/runtime/current-work.ts";
import { Backends } from "../../../../../src/plugin-host/runtime/host/backends.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

const GREEDY: Owner = ["key greedy", "key greedy, bot"];
const HONEST: Owner = ["key honest", "key honest, bot"];
const NEIGHBOUR: Owner = ["key greedy", "key greedy, other bot"];
const AWAY = new SourceError("unreachable", "nobody there");

let clock: FakeClock;
let backends: Backends;
let lines: string[];
let fieldsOfLines: object[];

beforeEach(() => {
  clock = new FakeClock();
  lines = [];
  fieldsOfLines = [];
  const line = (message: string, fields: object = {}): void => {
    lines.push(message);
    fieldsOfLines.push(fields);
  };
  const log = { debug: line, info: line, warn: line, error: line };
  backends = new Backends(clock, { plugin: "songs", hide: (text) => text, onReport: () => undefined, log });
});

function as<Value>(owners: readonly Owner[], task: () => Promise<Value>): Promise<Value> {
  return runWork({ depth: 0, owners: new Owners(...owners), route: undefined }, task);
}

async function outcome(owner: Owner, error?: SourceError, host?: string): Promise<"done" | "failed" | "refused"> {
  let isRun = false;
  const work = as([owner], () =>
    backends.get("api", { ...(host !== undefined && { host }) }).run(async () => {
      isRun = true;
      if (error !== undefined) throw error;
    }),
  );
  return work.then(
    () => "done",
    () => (isRun ? "failed" : "refused"),
  );
}

async function fail(owner: Owner, count: number, error = AWAY, host?: string): Promise<void> {
  for (let index = 0; index < count; index++) await outcome(owner, error, host);
}

const stateOf = (name: string) => backends.reports.find((report) => report.name === name)?.state;

describe("a breaker that one client's requests have opened", () => {
  test("another key's requests are let through, and so are those of another client of the same key", async () => {
    await fail(GREEDY, 20);
    expect(await outcome(GREEDY)).toBe("refused");
    expect(await outcome(HONEST)).toBe("done");
    expect(await outcome(NEIGHBOUR)).toBe("done");
    expect(await outcome(GREEDY)).toBe("refused");
  });

  test("a failure of another client now and then does not open the breaker for that one", async () => {
    await fail(GREEDY, 20);
    await fail(NEIGHBOUR, 1);
    await fail(HONEST, 1);
    expect(await outcome(NEIGHBOUR)).toBe("done");
    expect(await outcome(HONEST)).toBe("done");
  });

  test("a pause that the site asks for holds for the client that got it", async () => {
    await fail(GREEDY, 1, new SourceError("busy", "429", { retryAfterMs: 1_800_000 }));
    expect(await outcome(GREEDY)).toBe("refused");
    expect(await outcome(HONEST)).toBe("done");
    clock.advance(1_799_999);
    expect(await outcome(GREEDY)).toBe("refused");
    clock.advance(1);
    expect(await outcome(GREEDY)).toBe("done");
  });

  test("work that both wait for goes on for the one that is not refused", async () => {
    await fail(GREEDY, 20);
    const shared = as([GREEDY, HONEST], () => backends.get("api").run(async () => "done"));
    expect(await shared).toBe("done");
    // As it has worked, only the greedy one's own circuit is open.
    expect(await outcome(GREEDY)).toBe("refused");
  });

  test("the state is open until a request of anybody succeeds, with a line in the log for each", async () => {
    await fail(GREEDY, 5);
    expect(stateOf("api")).toBe("open");
    await outcome(HONEST);
    expect(stateOf("api")).toBe("closed");
    expect(lines).toEqual([
      "circuit breaker opened for songs/api: 5 failures in a row, retry in 30 s",
      "circuit breaker closed for songs/api",
    ]);
    expect(fieldsOfLines[0]).toMatchObject({ openFor: "one client" });
  });
});

describe("a backend that fails for several", () => {
  test("two keys open the breaker for everybody with five failures in a row", async () => {
    await fail(GREEDY, 3);
    await fail(HONEST, 1);
    expect(await outcome(["key third", "key third, bot"], AWAY)).toBe("failed");
    expect(await outcome(["key fourth", "key fourth, bot"])).toBe("refused");
    expect(stateOf("api")).toBe("open");
    clock.advance(30_000);
    expect(await outcome(HONEST)).toBe("done");
    expect(await outcome(["key fourth", "key fourth, bot"])).toBe("done");
  });

  test("two clients of a key open it for that key alone", async () => {
    await fail(GREEDY, 3);
    await fail(NEIGHBOUR, 2);
    expect(await outcome(["key greedy", "key greedy, third bot"])).toBe("refused");
    expect(await outcome(HONEST)).toBe("done");
  });

  test("clients that one makes up do not open it for one whose requests succeed, until one of these fails", async () => {
    const HONEST_BOT: Owner = ["key greedy", "key greedy, honest bot"];
    await outcome(HONEST_BOT);
    for (const name of ["a", "b", "c"]) await fail(["key greedy", `key greedy, ${name}`], 5);
    expect(await outcome(NEIGHBOUR)).toBe("refused");
    expect(await outcome(HONEST_BOT)).toBe("done");
    for (const name of ["a", "b", "c"]) await fail(["key greedy", `key greedy, ${name}`], 5);
    expect(await outcome(HONEST_BOT, AWAY)).toBe("failed");
    expect(await outcome(HONEST_BOT)).toBe("refused");
  });

  test("a request that passes an open breaker is no trial: it neither takes the place of one nor lengthens the pause", async () => {
    await outcome(HONEST);
    await fail(GREEDY, 3);
    await fail(["key other", "key other, bot"], 2);
    expect(stateOf("api")).toBe("open");
    const openUntilMs = backends.reports[0]?.openUntilMs;
    await outcome(HONEST, AWAY);
    expect(backends.reports[0]).toMatchObject({ state: "open", openUntilMs });
  });

  test("failed trials of one key alone do not lengthen the pause of the others", async () => {
    await fail(GREEDY, 3);
    await fail(HONEST, 2);
    for (let count = 0; count < 3; count++) {
      clock.advance(60_000);
      await outcome(GREEDY, AWAY);
    }
    clock.advance(60_000);
    expect(await outcome(HONEST)).toBe("done");
  });

  test("what the plugin does by itself counts for everybody", async () => {
    for (let count = 0; count < 5; count++) {
      await backends
        .get("api")
        .run(() => Promise.reject(AWAY))
        .catch(() => undefined);
    }
    expect(await outcome(HONEST)).toBe("refused");
  });
});

describe("hosts that strangers choose", () => {
  test("each host has a separate breaker, and all are counted under one name", async () => {
    for (let count = 0; count < 5; count++) await outcome(GREEDY, AWAY, "one.example");
    expect(await outcome(GREEDY, undefined, "one.example")).toBe("refused");
    expect(await outcome(GREEDY, undefined, "two.example")).toBe("done");
    expect(backends.reports).toMatchObject([{ name: "api", failed: 5, succeeded: 1, state: "closed" }]);
    expect(lines).toEqual([]);
  });

  test("a refusal names the last error of its own host, not that of another client's", async () => {
    await fail(HONEST, 5, new SourceError("unreachable", "one.example is away"), "one.example");
    await fail(GREEDY, 1, new SourceError("unreachable", "two.example is away"), "two.example");
    const refused = as([HONEST], () => backends.get("api", { host: "one.example" }).run(() => Promise.resolve()));
    await expect(refused).rejects.toThrow(/last error: one\.example is away$/);
  });

  test("of each host 16 owners are remembered, as strangers have as many hosts as they like", async () => {
    await fail(["key one"], 5, AWAY, "one.example");
    expect(await outcome(["key one"], undefined, "one.example")).toBe("refused");
    for (let index = 0; index < 20; index++) {
      await outcome(["key good"], undefined, "one.example");
      await fail([`key ${index}`], 5, AWAY, "one.example");
    }
    expect(await outcome(["key one"], undefined, "one.example")).toBe("done");
  });

  test("of 256 hosts those whose breaker is closed are forgotten first", async () => {
    for (let count = 0; count < 5; count++) await outcome(GREEDY, AWAY, "one.example");
    for (let index = 0; index < 300; index++) await outcome(GREEDY, undefined, `${index}.example`);
    expect(await outcome(GREEDY, undefined, "one.example")).toBe("refused");
  });
});
