// Follows the tutorial using only its text, with the tarball of this checkout. The other packages are the real ones, in the versions that npm and pip install
// today within the majors that the pages name: when a new release of one of them breaks a page, this fails though
// nothing changed here, and the page has to change.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { PROJECT_ROOT } from "../../support/project-files.ts";
import { messagesIn, readPage, type Step, stepsIn } from "./tutorial-page.ts";
import { type Shop, TutorialWorld } from "./world.ts";

const FIRST_BOT = readPage("docs/tutorial/first-bot.md");
const NEEDED = section(FIRST_BOT, "1. What you need");
const NODE = section(FIRST_BOT, "3. Start the node");
const BOT = section(FIRST_BOT, "4. Write the bot");
const START = NODE.findLast((step) => step.kind === "command")?.line ?? "";
const PLAY = section(FIRST_BOT, "5. Play");

let shop: Shop;
let world: TutorialWorld;

beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), "tonearm-tutorial-shop-"));
  // Built already.
  const npm = (...args: string[]) => execFileSync("npm", args, { cwd: PROJECT_ROOT, encoding: "utf8" }).trim();
  const tarball = join(folder, npm("pack", "--ignore-scripts", "--silent", "--pack-destination", folder));
  shop = { folder, tarball, registryUrl: npm("config", "get", "registry") };
});
afterAll(() => rmSync(shop.folder, { recursive: true, force: true }));
beforeEach(async () => {
  world = await TutorialWorld.open(shop);
});
afterEach(() => world.close());

function sectionText(page: ReadonlyMap<string, string>, heading: string): string {
  const text = page.get(heading);
  if (text === undefined) throw new Error(`the page has no section "${heading}", only ${[...page.keys()].join(", ")}`);
  return text;
}

function section(page: ReadonlyMap<string, string>, heading: string): Step[] {
  return stepsIn(sectionText(page, heading));
}

test.each([
  ["the first page", BOT],
  ["the page about shoukaku", section(readPage("docs/tutorial/shoukaku.md"), "Write the bot")],
  ["the page about wavelink", section(readPage("docs/tutorial/wavelink.md"), "Write the bot")],
])("a reader who follows %s has a bot that plays", async (_page, bot) => {
  const { reader, discord } = world;
  for (const steps of [NEEDED, NODE, bot]) await reader.follow(steps);
  discord.memberJoins();
  const [play, stop, ...more] = PLAY;
  await reader.follow([play!]);
  await world.receiveSong();
  await reader.follow([stop!]);
  await world.seeBotLeave();
  expect(more).toEqual([]);
  await world.assertClean();
});

test("the mistakes on the first page have the symptoms that it describes", async () => {
  const { reader, discord } = world;
  const messages = messagesIn(sectionText(FIRST_BOT, "If it does not work"));
  const [wrongToken, noNode, wrongPassword, notInVoice, youtube, ...more] = messages;
  const { line } = BOT.findLast((step) => step.kind === "command")!;
  const secrets = BOT.find((step) => step.kind === "file")!;
  await reader.follow([...NODE, ...BOT.slice(0, -1)]);

  reader.write(secrets.name, secrets.text.replace("PASTE-", ""));
  await reader.run(line, wrongToken);

  reader.write(secrets.name, secrets.text.replace("-of-my-own", "-of-somebody"));
  await reader.run(line, wrongPassword);
  await reader.stop(line);

  reader.write(secrets.name, secrets.text);
  await reader.follow(BOT.slice(-1));
  await reader.type("/play query:words", notInVoice!);
  discord.memberJoins();
  await reader.type("/play query:https://www.youtube.com/watch?v=jNQXAC9IVRw", youtube!);
  await reader.stop(line);

  await reader.stop(START);
  await reader.run(line, noNode);
  expect(more).toEqual([]);
});
