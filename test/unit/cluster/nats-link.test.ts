import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Secret } from "../../../src/config/keys/secret.ts";
import { NodeError } from "../../../src/errors.ts";
import {
  type ClusterMachine,
  settingsFor,
  startMachine,
  untilConnected,
  untilStatus,
} from "../../support/cluster-machine.ts";
import { CuttableLink } from "../../support/cuttable-link.ts";
import { isNatsMissing, NatsServer, natsTitle } from "../../support/nats-server.ts";

describe.skipIf(isNatsMissing)(natsTitle("calls between machines"), () => {
  let server: NatsServer;
  let caller: ClusterMachine;
  let other: ClusterMachine;
  const timeoutMs = 10_000;

  beforeAll(async () => {
    server = await NatsServer.start();
    [caller, other] = await Promise.all([startMachine(settingsFor([server])), startMachine(settingsFor([server]))]);
    await Promise.all([untilConnected(caller.link), untilConnected(other.link)]);
  });

  afterAll(async () => {
    await caller.link.close();
    await other.link.close();
    await server.stop();
  });

  test("an answer comes from the machine that was asked, which hears who asks", async () => {
    const ends = [
      caller.link.serve("one", "rest", async () => "one"),
      other.link.serve("two-a", "rest", async (request, from) => `${request} of ${from}`),
    ];
    expect(await caller.link.call("two-a", "rest", "a request", { timeoutMs })).toBe("a request of one");
    expect(await other.link.call("one", "rest", "", { timeoutMs })).toBe("one");
    for (const end of ends) end();
  });

  test("texts of 3 MiB travel both ways, as do characters of any size", async () => {
    const end = other.link.serve("two-b", "rest", async (request) => `${request}!`);
    const request = "🎵".repeat((3 * 1024 * 1024) / 4);
    expect((await caller.link.call("two-b", "rest", request, { timeoutMs })) === `${request}!`).toBe(true);
    end();
  });

  test("many calls at the same time get their answers", async () => {
    const end = other.link.serve("two-c", "rest", async (request) => request.slice(-10));
    // The server knows of it: what follows keeps this thread busy.
    await caller.link.call("two-c", "rest", "", { timeoutMs });
    const requests = Array.from({ length: 40 }, (_none, index) => `${"x".repeat(700_000)}${index}`.slice(-700_000));
    const answers = await Promise.all(requests.map((text) => caller.link.call("two-c", "rest", text, { timeoutMs })));
    expect(answers).toEqual(requests.map((text) => text.slice(-10)));
    end();
  });

  test("a text of more than 32 MiB is refused where it is sent", async () => {
    const large = "x".repeat(33 * 1024 * 1024);
    await expect(caller.link.call("two-d", "rest", large, { timeoutMs })).rejects.toMatchObject({ code: "internal" });
    const end = other.link.serve("two-d", "rest", async () => large);
    await expect(caller.link.call("two-d", "rest", "", { timeoutMs })).rejects.toMatchObject({ code: "internal" });
    end();
  });

  test("a machine that nobody is, or that has stopped, is gone", async () => {
    await expect(caller.link.call("nobody", "rest", "", { timeoutMs })).rejects.toMatchObject({ code: "machine-gone" });
    other.link.serve("two-e", "rest", async () => "")();
    await expect(caller.link.call("two-e", "rest", "", { timeoutMs })).rejects.toMatchObject({ code: "machine-gone" });
  });

  test("an error of the handler reaches the caller with its code", async () => {
    const end = other.link.serve("two-f", "rest", () =>
      Promise.reject(new NodeError("player-busy", "the player has too many commands")),
    );
    await expect(caller.link.call("two-f", "rest", "", { timeoutMs })).rejects.toMatchObject({
      code: "player-busy",
      message: "the player has too many commands",
    });
    end();
  });

  test("an unexpected error of the handler is logged there, and is internal for the caller", async () => {
    const end = other.link.serve("two-g", "rest", () => Promise.reject(new TypeError("a fault")));
    await expect(caller.link.call("two-g", "rest", "", { timeoutMs })).rejects.toMatchObject({
      code: "internal",
      message: "an unexpected error inside the node",
    });
    expect(other.lines.at(-1)).toContain("a call of another machine failed");
    end();
  });

  test("a call without an answer in time is given up", async () => {
    const end = other.link.serve("two-h", "rest", () => new Promise<string>(() => undefined));
    await expect(caller.link.call("two-h", "rest", "", { timeoutMs: 50 })).rejects.toMatchObject({
      code: "cluster-away",
    });
    end();
  });

  test("requests and answers of others are ignored: they are not sealed with the key", async () => {
    let callCount = 0;
    const end = other.link.serve("two-i", "rest", async () => {
      callCount++;
      return "genuine";
    });
    const nats = await server.connect();
    // Answers each call before the machine does, with what it was sent.
    nats.subscribe("tonearm.test.two-i.rest", {
      callback: (_error, message) => void message.respond(message.data),
    });
    await nats.flush();
    await expect(nats.request("tonearm.test.two-i.rest", "x".repeat(100), { timeout: 200 })).resolves.toBeDefined();
    expect(callCount).toBe(0);
    expect(await caller.link.call("two-i", "rest", "", { timeoutMs })).toBe("genuine");
    await nats.close();
    end();
  });

  test("a call that was recorded is not carried out when it is sent again", async () => {
    const calls: string[] = [];
    const end = other.link.serve("two-r", "rest", async (request) => {
      calls.push(request);
      return request;
    });
    const nats = await server.connect();
    const recorded: Uint8Array[] = [];
    nats.subscribe("tonearm.test.two-r.rest", { callback: (_error, { data }) => void recorded.push(data) });
    await nats.flush();
    await caller.link.call("two-r", "rest", "destroy", { timeoutMs });
    await nats.flush();
    for (const data of recorded.splice(0)) nats.publish("tonearm.test.two-r.rest", data, { reply: "nowhere" });
    await nats.flush();

    // Comes after it.
    await caller.link.call("two-r", "rest", "another", { timeoutMs });
    expect(calls).toEqual(["destroy", "another"]);
    await nats.close();
    end();
  });

  test("a call says when it was sent, and is not carried out when that was long ago", async () => {
    const calls: string[] = [];
    const end = other.link.serve("two-t", "rest", async (request) => {
      calls.push(request);
      return request;
    });
    const said: number[] = [];
    const isLate = (sentMs: number): boolean => {
      said.push(sentMs);
      return sentMs < 2000;
    };
    const says = (epochMs: number | undefined): void => caller.link.timeCalls({ epochMs, isLate: () => false });
    other.link.timeCalls({ epochMs: undefined, isLate });
    says(undefined);
    await caller.link.call("two-t", "rest", "untimed", { timeoutMs });
    says(1999);
    await expect(caller.link.call("two-t", "rest", "late", { timeoutMs })).rejects.toMatchObject({
      code: "cluster-away",
    });
    says(2000);
    await caller.link.call("two-t", "rest", "timely", { timeoutMs });
    expect(calls).toEqual(["untimed", "timely"]);
    expect(said).toEqual([1999, 2000]);
    says(undefined);
    end();
  });

  test("a call ends with the connection, and later ones are answered over the next", async () => {
    const proxy = await CuttableLink.open(server.port);
    const cuttable = await startMachine(settingsFor([{ url: `nats://127.0.0.1:${proxy.port}` }]));
    await untilConnected(cuttable.link);
    let asked = () => undefined as unknown;
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const end = other.link.serve("two-j", "rest", (request) => {
      asked();
      return request === "wait" ? new Promise<string>(() => undefined) : Promise.resolve("answer");
    });
    const served = cuttable.link.serve("three", "rest", async () => "three");
    const call = cuttable.link.call("two-j", "rest", "wait", { timeoutMs });
    await isAsked;
    proxy.cut();
    await expect(call).rejects.toMatchObject({ code: "cluster-away" });
    await untilStatus(cuttable.link, ({ kind }) => kind === "disconnected");
    await expect(cuttable.link.call("two-j", "rest", "", { timeoutMs })).rejects.toMatchObject({
      code: "cluster-away",
    });
    await untilConnected(cuttable.link);
    expect(await cuttable.link.call("two-j", "rest", "", { timeoutMs })).toBe("answer");
    expect(await caller.link.call("three", "rest", "", { timeoutMs })).toBe("three");
    const told = cuttable.lines.filter((line) => line.includes("connection to NATS lost"));
    expect(told).toHaveLength(1);
    served();
    end();
    await cuttable.link.close();
    proxy.close();
  });

  test("a machine of another cluster on the servers cannot be called", async () => {
    const stranger = await startMachine(settingsFor([server], { name: "strangers", key: new Secret("another") }));
    await untilConnected(stranger.link);
    const end = other.link.serve("two-k", "rest", async () => "");
    await expect(stranger.link.call("two-k", "rest", "", { timeoutMs })).rejects.toMatchObject({
      code: "machine-gone",
    });
    end();
    await stranger.link.close();
  });

  test("closing resolves while no server answers, and ends what is pending", async () => {
    const lonely = await startMachine(settingsFor([{ url: "nats://127.0.0.1:1" }]));
    await lonely.link.close();
    await expect(lonely.link.call("two-l", "rest", "", { timeoutMs })).rejects.toMatchObject({ code: "cluster-away" });
  });
});
