// Somebody follows the tutorial, with nothing but its text. The packages are the real ones, in the versions that npm and
// pip give a reader today within the majors that the pages name: when a new release of one of them breaks a page, this
// fails though nothing changed here, and then it is the page that has to change. What was installed is in the message.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { PackageRegistry } from "./package-registry.ts";
import { readPage, type Step, stepsIn } from "./tutorial-page.ts";
import { type Shop, TutorialWorld } from "./world.ts";

const FIRST_BOT = readPage("docs/tutorial/first-bot.md");
let shop: Shop;
let world: TutorialWorld;

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "tonearm-tutorial-shop-"));
  shop = { folder, registry: await PackageRegistry.open(folder) };
});
afterAll(async () => {
  await shop.registry.close();
  rmSync(shop.folder, { recursive: true, force: true });
});
beforeEach(async () => {
  world = await TutorialWorld.open(shop);
});
afterEach(() => world.close());

function section(page: ReadonlyMap<string, string>, heading: string): Step[] {
  const text = page.get(heading);
  if (text === undefined) throw new Error(`the page has no section "${heading}", only ${[...page.keys()].join(", ")}`);
  return stepsIn(text);
}

test("whoever follows the first page has a bot that plays", async () => {
  const { reader, discord } = world;
  for (const heading of ["1. What you need", "3. Start the node", "4. Write the bot"]) {
    await reader.follow(section(FIRST_BOT, heading));
  }
  discord.memberJoins();
  const [play, stop, ...more] = section(FIRST_BOT, "5. Play");
  await reader.follow([play!]);
  await world.hearSong();
  await reader.follow([stop!]);
  await world.seeBotLeave();
  expect(more).toEqual([]);
  await world.assertClean();
});
