import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { v3Player } from "../../../../src/control/api/v3/json-forms.ts";
import type { AskedPlayer } from "../../../../src/control/cluster/session-places.ts";
import type { FakeSessionPlayer } from "../../../support/fake-session-player.ts";
import { PlacedMachines } from "../../../support/placed-machines.ts";
import { playersInto } from "../../../support/session-builders.ts";

const NO_PLAYER: AskedPlayer = { sessionId: "", guildId: undefined };

let machines: PlacedMachines;

beforeEach(() => {
  machines = new PlacedMachines();
});

afterEach(() => machines.close());

function guildsOf(players: readonly { readonly guildId: string }[]): readonly string[] {
  return players.map(({ guildId }) => guildId);
}

test("the list joins the players of all machines, each of which is asked once", async () => {
  await machines.start();
  await machines.fill("home", ["1", "2"]);
  await machines.fill("far", ["3"]);
  await machines.fill("third", ["4", "5"]);
  const { status, headers, json } = await machines.home.request("GET", machines.playersPath);
  expect([status, headers["content-type"], guildsOf(json)]).toEqual([
    ...[200, "application/json", ["1", "2", "3", "4", "5"]],
  ]);
  const { sessionId } = machines;
  expect(machines.asked).toEqual([
    { machine: "far", sessionId, guildId: undefined },
    { machine: "third", sessionId, guildId: undefined },
  ]);
  expect(machines.places.home.holds).toEqual([]);
});

test.each([
  ["nowhere", [], []],
  ["here", ["1"], []],
  ["elsewhere", [], ["2", "3"]],
])("the list is whole where players are only %s", async (_where, here, there) => {
  await machines.start();
  await machines.fill("home", here);
  await machines.fill("far", there);
  machines.place("9", "third");
  const { body } = await machines.home.request("GET", machines.playersPath);
  expect(guildsOf(JSON.parse(body))).toEqual([...here, ...there]);
  expect(await machines.home.request("HEAD", machines.playersPath)).toMatchObject({ status: 200, body: "" });
});

test("the list of v3 joins players in the form of v3", async () => {
  await machines.start();
  await machines.fill("far", ["3"]);
  const path = `/v3/sessions/${machines.sessionId}/players/`;
  const { json, headers } = await machines.home.request("GET", path);
  const player = machines.playerOn(machines.far, "3")!;
  expect([headers["lavalink-api-version"], json]).toEqual(["3", [v3Player(player)]]);
  expect(machines.asked).toHaveLength(1);
});

test("the list reaches a client of another machine", async () => {
  await machines.start();
  await machines.fill("far", ["3"]);
  expect(guildsOf((await machines.third.request("GET", machines.playersPath)).json)).toEqual(["3"]);
});

test("a client that takes no JSON gets no list", async () => {
  await machines.start();
  await machines.fill("far", ["3"]);
  const { status, body } = await machines.home.request("GET", machines.playersPath, {
    headers: { Accept: "text/html" },
  });
  expect([status, body]).toEqual([406, ""]);
});

test("there is no list without that of every machine", async () => {
  await machines.start();
  await machines.fill("far", ["3"]);
  machines.place("9", "dead");
  const { status, headers } = await machines.home.request("GET", machines.playersPath);
  expect([status, headers["retry-after"]]).toEqual([503, "2"]);
  await expect.poll(() => machines.lines.length).toBe(1);
  expect(machines.lines[0]).toContain('"machine":"dead"');
});

test("an answer that is no list is a fault", async () => {
  await machines.start();
  await machines.fill("far", ["3"]);
  machines.places.home.onSent = async (handle) => (await handle()).replace(/\[.*\]$/, "{}");
  expect((await machines.home.request("GET", machines.playersPath)).status).toBe(500);
});

test("many machines with long lists are joined, up to 32 MiB, without a warning of Node.js", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const players: FakeSessionPlayer[] = [];
  await machines.start({ createPlayer: playersInto(players) });
  const guildIds = Array.from({ length: 100 }, (_, index) => String(index));
  await machines.fill("far", guildIds);
  await machines.fill("home", ["1000", "1001", "1002"]);
  machines.joined.players.clear();
  const text = "ä".repeat(5000);
  for (const player of players) {
    const json = { ...player.toJson(), voice: { token: text, endpoint: "", sessionId: "", channelId: null } };
    player.toJson = () => json;
  }
  const handle = (request: string): Promise<string> => machines.places.home.callPlayer("far", NO_PLAYER, request);
  const addMachine = (index: number): void => {
    machines.place(String(index), `m${index}`);
    machines.joined.of(`m${index}`).onPlayerCall(handle);
  };
  for (let index = 0; index < 20; index++) addMachine(index);
  const { status, json } = await machines.home.request("GET", machines.playersPath);
  expect([status, json.length]).toEqual([200, 2003]);
  for (let index = 20; index < 34; index++) addMachine(index);
  const refused = await machines.home.request("GET", machines.playersPath);
  expect([refused.status, refused.json.message]).toEqual([503, expect.stringContaining("32 MiB")]);
  await expect.poll(() => machines.lines.length).toBe(2);
  expect(warnings).toEqual([]);
});
