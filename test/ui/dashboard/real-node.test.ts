// The dashboard of a real node in a real browser: fifty players with a listener, one that is paused and falls silent, a
// plugin that is reloaded, and a node that is lost and comes back. The page by itself is tested in page.test.ts.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPage, startChromium } from "../../support/chromium.ts";
import { CrowdedNode } from "../../support/crowded-node.ts";
import { goTo } from "../../support/dashboard-visit.ts";

const OPERATOR = "for the dashboard";
const PLAYER_COUNT = 50;

let browser: Browser;
let page: Page;
let node: CrowdedNode;

beforeAll(async () => {
  browser = await startChromium();
  node = await CrowdedNode.start({ dashboardPassword: OPERATOR, playerCount: PLAYER_COUNT });
  ({ page } = await openPage(browser, node.origin, { scheme: "light", width: "desktop" }));
});

afterAll(async () => {
  await browser.close();
  await node.close();
});

const rows = () => page.locator("table.players tbody tr");

async function secondsOf(index: number): Promise<number> {
  const text = (await rows().nth(index).locator("[data-position]").textContent()) ?? "";
  const [minutes = 0, seconds = 0] = text.split(":").map(Number);
  return minutes * 60 + seconds;
}

test("a logged-in user sees fifty players advance, their requesters, and their cost", async () => {
  await page.goto(`${node.origin}/dashboard`);
  await page.getByLabel("Password of the dashboard").fill(OPERATOR);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { name: "Players" }).waitFor();
  await expect.poll(() => rows().count()).toBe(PLAYER_COUNT);
  const before = await secondsOf(0);
  await expect.poll(() => secondsOf(0)).toBeGreaterThanOrEqual(before + 2);
  const text = (await rows().allTextContents()).join("\n");
  for (let guild = 1; guild <= PLAYER_COUNT; guild++) expect(text).toContain(`listener ${guild}`);
});

test("a paused player falls silent for its listener, and no other player does", async () => {
  await page.getByLabel("Filter").fill("listener 7");
  await expect.poll(() => rows().count()).toBe(1);
  await rows().first().getByRole("link").click();
  await page.getByRole("button", { name: "Pause…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
  await page.getByText(/^Done: Pause/).waitFor();
  // Packets in flight still arrive, late where the listeners lag behind.
  const receivedMeanwhile = async () => {
    const [silentFrom, control] = [node.received("7"), node.received("8")];
    await expect.poll(() => node.received("8")).toBeGreaterThan(control + 50);
    return node.received("7") - silentFrom;
  };
  await expect.poll(receivedMeanwhile).toBe(0);
  const silentFrom = node.received("7");
  await page.getByRole("button", { name: "Resume…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
  await expect.poll(() => node.received("7")).toBeGreaterThan(silentFrom + 25);
});

test("a plugin is reloaded while music plays", async () => {
  const before = node.received("9");
  await goTo(page, "#/sources", "Sources");
  await page.getByRole("button", { name: "Reload bandcamp…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Reload" }).click();
  await page.getByText(/^Done: Reload the plugin bandcamp/).waitFor();
  await node.process.until(/dashboard action kind=reloadPlugin name=bandcamp/);
  await expect.poll(() => node.received("9")).toBeGreaterThan(before + 25);
});

test("the page reconnects by itself when the node is lost and comes back, without another login", async () => {
  await goTo(page, "#/players", "Players");
  await page.getByLabel("Filter").fill("");
  await expect.poll(() => rows().count()).toBe(PLAYER_COUNT);
  node.process.child.kill("SIGKILL");
  const lost = page.getByText("Connection to the node lost at");
  await lost.waitFor();
  expect(await rows().count()).toBe(PLAYER_COUNT);
  await node.restart();
  await lost.waitFor({ state: "detached" });
  await expect.poll(() => rows().count()).toBe(PLAYER_COUNT);
  await expect.poll(() => secondsOf(0)).toBeGreaterThan(0);
  expect(node.process.output()).not.toContain(OPERATOR);
});
