// The docs site in a real browser: every page light and dark, wide and on a phone, with what axe says of it; the search
// finds, the menu opens, and nothing is asked of another host.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PAGES, routeOf } from "../../../docs/site/pages.mjs";
import { APPEARANCES, type Appearance, openPage, seriousFindings, startChromium } from "../../support/chromium.ts";
import { PROJECT_ROOT } from "../../support/project-files.ts";
import { type SiteServer, serveSite } from "../../support/site-server.ts";

let browser: Browser;
let site: SiteServer;

beforeAll(async () => {
  site = await serveSite(`${PROJECT_ROOT}docs/site/dist`);
  browser = await startChromium();
});

afterAll(async () => {
  await browser.close();
  site.close();
});

const DESKTOP: Appearance = { scheme: "light", width: "desktop" };
const PHONE: Appearance = { scheme: "light", width: "phone" };

/** Pages that contain every kind of element: prose, tables, code, pictures, long lists. */
const VARIED = ["docs/index.md", "docs/benchmarks.md", "docs/reference/openapi.md", "docs/how-to/reverse-proxy.md"];

describe.each(APPEARANCES)("$scheme on a $width", (appearance) => {
  // Pages of the same elements look alike: all pages in one appearance, and the varied ones in every appearance.
  const pages = appearance.scheme === DESKTOP.scheme && appearance.width === DESKTOP.width ? PAGES : VARIED;
  let page: Page;
  let strays: readonly string[];
  const errors: string[] = [];

  beforeAll(async () => {
    ({ page, strays } = await openPage(browser, site.origin, appearance));
    page.on("pageerror", ({ message }) => errors.push(message));
  });

  afterAll(() => page.context().close());

  test.each(pages)("%s shows its title, fits the screen, and axe calls nothing of it serious", async (path) => {
    await page.goto(`${site.origin}${routeOf(path)}`, { waitUntil: "load" });
    await page.locator("h1").first().waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    expect(await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
    expect({ errors, strays }).toEqual({ errors: [], strays: [] });
  });

  test("the page uses the colour scheme of the reader's system", async () => {
    await page.goto(site.origin);
    const background = await page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    const [red = 0] = (background.match(/\d+/g) ?? []).map(Number);
    expect(red > 127 ? "light" : "dark").toBe(appearance.scheme);
  });
});

/** Waits until the page reacts to the keyboard: the script writes the key hint. */
async function isAwake(page: Page): Promise<void> {
  await page.locator(".rp-search-button__hotkey", { hasText: "Ctrl" }).waitFor({ state: "attached" });
}

test("the search finds a page by a word of it, and opens it", async () => {
  const { page, strays } = await openPage(browser, site.origin, DESKTOP);
  await page.goto(`${site.origin}/`);
  await isAwake(page);
  await page.keyboard.press("Control+k");
  await page.locator("input").fill("input-unreachable");
  const found = page.locator('a[href$="/reference/errors#input-unreachable"]');
  await found.waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await found.click();
  await page.locator("h1", { hasText: "Errors" }).waitFor();
  expect(strays).toEqual([]);
  await page.context().close();
});

test("on a phone the side bar opens and links to a page", async () => {
  const { page } = await openPage(browser, site.origin, PHONE);
  await page.goto(`${site.origin}/reference/rest`);
  await isAwake(page);
  await page.getByRole("button", { name: "Search", exact: true }).press("Enter");
  await page.locator("input").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Menu" }).click();
  const entry = page.getByRole("link", { name: "WebSocket", exact: true }).first();
  await entry.waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await entry.click();
  await page.locator("h1", { hasText: "WebSocket" }).waitFor();
  expect(new URL(page.url()).pathname).toMatch(/^\/reference\/websocket/);
  await page.context().close();
});

test("the switch for light and dark is one for the keyboard too, and is remembered", async () => {
  const { page } = await openPage(browser, site.origin, DESKTOP);
  await page.goto(`${site.origin}/`);
  await isAwake(page);
  await page.getByRole("button", { name: "Light or dark" }).first().press("Enter");
  await page.locator("html.dark").waitFor();
  await page.goto(`${site.origin}/reference/rest`);
  await page.locator("html.dark").waitFor();
  await page.context().close();
});
