// A browser that has the dashboard of a fake node open, for the tests of the page.

import type { Browser, Page } from "playwright-core";
import { expect } from "vitest";
import type { DashboardRole } from "../../src/control/dashboard/live-messages.ts";
import { type Appearance, openPage } from "./chromium.ts";
import { type FakeDashboardNode, PASSWORDS } from "./fake-dashboard-node.ts";

const DESKTOP_LIGHT: Appearance = { scheme: "light", width: "desktop" };
/** The smallest width that the page supports. */
const PHONE_PX = 360;

/** An open page; `strays` are its requests to other hosts, `problems` the browser's console messages. */
interface DashboardVisit {
  readonly page: Page;
  readonly strays: readonly string[];
  readonly problems: readonly string[];
}

/** Opens the page at the login. */
export async function visit(
  browser: Browser,
  node: FakeDashboardNode,
  appearance = DESKTOP_LIGHT,
): Promise<DashboardVisit> {
  const { page, strays } = await openPage(browser, node.origin, appearance);
  if (appearance.width === "phone") await page.setViewportSize({ width: PHONE_PX, height: 740 });
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  await page.goto(`${node.origin}/dashboard`);
  await page.getByLabel("Password of the dashboard").waitFor();
  return { page, strays, problems };
}

/** Enters the password of that role, and waits for the players. */
export async function logInAs(page: Page, role: DashboardRole): Promise<void> {
  await page.getByLabel("Password of the dashboard").fill(PASSWORDS[role]);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { name: "Players" }).waitFor();
}

/** Opens another page as its address says, and waits for its heading. */
export async function goTo(page: Page, hash: string, heading: string | RegExp): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  await page.getByRole("heading", { level: 1, name: heading }).waitFor();
}

/** Checks that nothing is wider than the window. */
export async function expectNoSidewaysScrolling(page: Page): Promise<void> {
  const widths = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]";
  const [content = 0, window = 0] = await page.evaluate<readonly number[]>(widths);
  expect(content).toBeLessThanOrEqual(window);
}
