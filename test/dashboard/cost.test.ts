// What the page costs the browser. Asked for by hand, as a figure of a machine that others use says nothing.

import { expect, test } from "vitest";
import { startChromium } from "../support/chromium.ts";
import { playerRow } from "../support/dashboard-messages.ts";
import { logInAs, visit } from "../support/dashboard-visit.ts";
import { FakeDashboardNode } from "../support/fake-dashboard-node.ts";

const SETTLE_MS = 3000;
const MEASURED_MS = 20_000;
const SHARE_MAX = 0.1;

const isAsked = process.env.DASHBOARD_FIGURES !== undefined;

// Left out unless it is asked for: see above.
test.runIf(isAsked).each([0, 50, 200])("a page that shows the first hundred of %d players for 20 s", async (count) => {
  const rows = Array.from({ length: count }, (_, index) => playerRow(index));
  const node = new FakeDashboardNode(rows, { intervalMs: 1000 });
  await node.start();
  const browser = await startChromium();
  const { page } = await visit(browser, node);
  await logInAs(page, "operator");
  const devTools = await page.context().newCDPSession(page);
  await devTools.send("Performance.enable");
  const read = async (): Promise<ReadonlyMap<string, number>> => {
    const { metrics } = await devTools.send("Performance.getMetrics");
    return new Map(metrics.map(({ name, value }) => [name, value]));
  };
  await page.waitForTimeout(SETTLE_MS);
  const before = await read();
  await page.waitForTimeout(MEASURED_MS);
  const after = await read();
  const grown = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  const [all, script, layout] = ["TaskDuration", "ScriptDuration", "LayoutDuration"].map(
    (name) => grown(name) / grown("Timestamp"),
  );
  process.stdout.write(`${count} players: ${JSON.stringify({ all, script, layout })} of a core\n`);
  expect(all).toBeLessThan(SHARE_MAX);
  await browser.close();
  await node.stop();
});
