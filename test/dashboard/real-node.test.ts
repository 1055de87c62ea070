// The dashboard of a real node in a real browser: fifty players that a listener hears, one that is paused and falls
// silent, a plugin loaded anew, and a node that is lost and comes back. The page by itself is tested in page.test.ts.

import { createServer } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FakeDiscord } from "../../lab/discord/fake-discord.ts";
import { countedSong } from "../../lab/media-files/counted-song.ts";
import { MediaServer } from "../../lab/media-server/media-server.ts";
import { Bot } from "../../lab/stage/bot.ts";
import { openPage, startChromium } from "../support/chromium.ts";
import { goTo } from "../support/dashboard-visit.ts";
import { LISTENING, type RunningNode, RunningNodes } from "../support/running-node.ts";

const PASSWORD = "the node's own";
const OPERATOR = "for the dashboard";
const PLAYER_COUNT = 50;

const nodes = new RunningNodes();
let browser: Browser;
let page: Page;
let discord: FakeDiscord;
let media: MediaServer;
let node: RunningNode;
let bot: Bot;
let config: string;
let origin: string;

beforeAll(async () => {
  browser = await startChromium();
  discord = await FakeDiscord.start({ keepFrames: false });
  // Longer than the tests take.
  media = await MediaServer.start({ files: { "long.opus": countedSong({ seconds: 3600 }) } });
  const port = await freePort();
  origin = `http://127.0.0.1:${port}`;
  config = `
server.port: ${port}
lavalink.server.password: ${PASSWORD}
tonearm:
  dashboard.password: ${OPERATOR}
  network.allow: [127.0.0.0/8]
  voice.gatewayScheme: ws
`;
  await startNode();
  ({ page } = await openPage(browser, origin, { scheme: "light", width: "desktop" }));
});

afterAll(async () => {
  await browser.close();
  nodes.close();
  await discord.close();
  await media.close();
});

async function startNode(): Promise<void> {
  node = nodes.run(["start"], { config });
  await node.until(LISTENING);
  bot = await Bot.connect({ url: origin, password: PASSWORD });
  await Promise.all(Array.from({ length: PLAYER_COUNT }, (_, index) => play(String(index + 1))));
}

/** A track that does not end before the test does. */
async function play(guildId: string): Promise<void> {
  const channelId = `${guildId}7`;
  await bot.update(guildId, { voice: discord.issueVoice({ userId: bot.userId, guildId, channelId }) });
  const url = `${media.url}/long.opus`;
  await bot.update(guildId, {
    track: { identifier: url, userData: { requester: { username: `listener ${guildId}` } } },
  });
}

function heard(guildId: string): number {
  return discord.channel(`${guildId}7`).listener.heardCount;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

const rows = () => page.locator("table.players tbody tr");

async function secondsOf(index: number): Promise<number> {
  const text = (await rows().nth(index).locator("[data-position]").textContent()) ?? "";
  const [minutes = 0, seconds = 0] = text.split(":").map(Number);
  return minutes * 60 + seconds;
}

test("somebody logs in and sees fifty players move, who asked, and what they cost", async () => {
  await page.goto(`${origin}/dashboard`);
  await page.getByLabel("Password of the dashboard").fill(OPERATOR);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { name: "Players" }).waitFor();
  await expect.poll(() => rows().count()).toBe(PLAYER_COUNT);
  const before = await secondsOf(0);
  await expect.poll(() => secondsOf(0)).toBeGreaterThanOrEqual(before + 2);
  const text = (await rows().allTextContents()).join("\n");
  for (let guild = 1; guild <= PLAYER_COUNT; guild++) expect(text).toContain(`listener ${guild}`);
});

test("a player that is paused falls silent for its listener, and for nobody else", async () => {
  await page.getByLabel("Filter").fill("listener 7");
  await expect.poll(() => rows().count()).toBe(1);
  await rows().first().getByRole("link").click();
  await page.getByRole("button", { name: "Pause…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
  await page.getByText(/^Done: Pause/).waitFor();
  // What was on its way has arrived once others have had as much again.
  const [others, paused] = [heard("8"), heard("7")];
  await expect.poll(() => heard("8")).toBeGreaterThan(others + 25);
  const silentFrom = heard("7");
  expect(silentFrom - paused).toBeLessThan(15);
  const control = heard("8");
  await expect.poll(() => heard("8")).toBeGreaterThan(control + 50);
  expect(heard("7")).toBe(silentFrom);
  await page.getByRole("button", { name: "Resume…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
  await expect.poll(() => heard("7")).toBeGreaterThan(silentFrom + 25);
});

test("a plugin is loaded anew while music plays", async () => {
  const before = heard("9");
  await goTo(page, "#/sources", "Sources");
  await page.getByRole("button", { name: "Reload bandcamp…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Reload" }).click();
  await page.getByText(/^Done: Reload the plugin bandcamp/).waitFor();
  expect(node.output()).toContain("somebody acts through the dashboard kind=reloadPlugin name=bandcamp");
  await expect.poll(() => heard("9")).toBeGreaterThan(before + 25);
});

test("the page goes on by itself when the node is lost and comes back, without another login", async () => {
  await goTo(page, "#/players", "Players");
  await page.getByLabel("Filter").fill("");
  await expect.poll(() => rows().count()).toBe(PLAYER_COUNT);
  node.child.kill("SIGKILL");
  await page.getByText("Connection to the node lost at").waitFor();
  expect(await rows().count()).toBe(PLAYER_COUNT);
  await startNode();
  await page.getByText("The node is back.").waitFor();
  await expect.poll(() => rows().count()).toBe(PLAYER_COUNT);
  await expect.poll(() => secondsOf(0)).toBeGreaterThan(0);
  expect(node.output()).not.toContain(OPERATOR);
});
