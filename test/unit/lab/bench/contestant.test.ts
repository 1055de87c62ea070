import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { Contestant, type NodePlan } from "../../../../lab/bench/compare/contestant.ts";
import { NodeTrouble } from "../../../../lab/bench/trouble.ts";

const FAULTY_NODE = fileURLToPath(new URL("../../../support/faulty-node.mjs", import.meta.url));

let opened: Contestant | undefined;
afterEach(() => opened?.close());

function faultyNode(wrong: string, startMsMax = 30_000): NodePlan {
  const command = { name: "other", command: process.execPath, args: [FAULTY_NODE, wrong], startMsMax };
  return { name: "other", command };
}

test.each([
  ["ends at once", /^other: the node ended with status 3 while it started; its last lines:\n\s+no memory on this/],
  ["talks nonsense", /^other: no sensible answer to \/v4\/info: /],
  ["wrong password", /^other: the password is wrong \(403\)/],
])("a faulty node is reported in a sentence: %s", async (wrong, sentence) => {
  const trouble = await Contestant.open(faultyNode(wrong)).catch((error: unknown) => error);
  expect(trouble).toBeInstanceOf(NodeTrouble);
  expect((trouble as NodeTrouble).message).toMatch(sentence);
});

test("a node that never answers is given up after the time limit", async () => {
  await expect(Contestant.open(faultyNode("never answers", 300))).rejects.toThrow(
    "other: the node did not answer within 300 ms",
  );
});

test("a missing program is reported in a sentence", async () => {
  const command = { name: "other", command: "/nowhere/no-such-node", args: [] };
  await expect(Contestant.open({ name: "other", command })).rejects.toThrow(
    /^other: the node could not be started: .*ENOENT/,
  );
});

test("a node that ends in the middle of the run is reported, and one that is closed is not", async () => {
  opened = await Contestant.open(faultyNode("is well"));
  process.kill(opened.pid ?? 0, "SIGKILL");
  await expect(opened.trouble).rejects.toThrow(/^other: ended by SIGKILL in the middle of the run/);

  const closed = await Contestant.open(faultyNode("is well"));
  const isTrouble = closed.trouble.then(
    () => false,
    () => true,
  );
  await closed.close();
  expect(await Promise.race([isTrouble, new Promise((resolve) => setImmediate(() => resolve("none")))])).toBe("none");
});

test("a running node is found by its port, measured like one that was started, and not ended", async () => {
  opened = await Contestant.open(faultyNode("is well"));
  const attached = await Contestant.open({ name: "same", url: opened.url, password: "any", pid: undefined });
  expect(attached.pid).toBe(opened.pid);
  expect(attached.startMs).toBeUndefined();
  expect(attached.pssBytes()).toBeGreaterThan(1024 * 1024);
  await attached.close();
  expect(opened.use().cpuSeconds).toBeGreaterThan(0);
});

test("processor and memory of a node with unknown processes are not measured", async () => {
  opened = await Contestant.open(faultyNode("is well"));
  const gone = await Contestant.open({ name: "same", url: opened.url, password: "any", pid: 2 ** 22 + 1 });
  expect(gone.use()).toEqual({ cpuSeconds: undefined, residentBytes: undefined });
  expect(gone.pssBytes()).toBeUndefined();
});
