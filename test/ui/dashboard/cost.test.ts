// The cost of the page for the browser, and of a viewer for the node. Run by hand only, because a measurement on a
// shared machine says nothing.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { spreadOf } from "../../../lab/report/statistics.ts";
import { sleep } from "../../../lab/sleep.ts";
import { startChromium } from "../../support/chromium.ts";
import { CrowdedNode } from "../../support/crowded-node.ts";
import { playerRow } from "../../support/dashboard-messages.ts";
import { logInAs, visit } from "../../support/dashboard-visit.ts";
import { FakeDashboardNode } from "../../support/fake-dashboard-node.ts";

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

const ROUNDS = 8;
const ROUND_MS = 15_000;
const VIEWER_SHARE_MAX = 0.01;
const PASSWORD = "for the dashboard";

// Skipped unless it is requested: see above. Linux only, as other systems do not provide the CPU time of a thread.
test.runIf(isAsked)("one viewer of 200 players costs the node's main thread", { timeout: 300_000 }, async () => {
  const node = await CrowdedNode.start({ dashboardPassword: PASSWORD, playerCount: 200 });
  await sleep(SETTLE_MS);
  const measureRound = async (): Promise<number> => {
    const [usedMs, atMs] = [mainThreadMs(node), performance.now()];
    await sleep(ROUND_MS);
    return (mainThreadMs(node) - usedMs) / (performance.now() - atMs);
  };
  const rounds: { readonly without: number; readonly withOne: number }[] = [];
  let sizeBytes = 0;
  for (let count = 0; count < ROUNDS; count++) {
    const without = await measureRound();
    const viewer = await openViewer(node);
    viewer.on("message", (data: Buffer) => {
      sizeBytes += data.length;
    });
    rounds.push({ without, withOne: await measureRound() });
    viewer.close();
  }
  const added = spreadOf(rounds.map(({ without, withOne }) => withOne - without));
  const bytesPerSecond = Math.round(sizeBytes / ((ROUNDS * ROUND_MS) / 1000));
  process.stdout.write(`${JSON.stringify({ rounds, added, bytesPerSecond })}, in shares of a core\n`);
  expect(added?.median).toBeLessThan(VIEWER_SHARE_MAX);
  await node.close();
});

/** Milliseconds of processor that the main thread has used. */
function mainThreadMs({ process: { child } }: CrowdedNode): number {
  return Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/schedstat`, "latin1").split(" ", 1)[0]) / 1e6;
}

/** A viewer of all players and of the log. */
async function openViewer({ origin }: CrowdedNode): Promise<WebSocket> {
  const answer = await fetch(`${origin}/dashboard/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ password: PASSWORD }),
  });
  const [cookie = ""] = answer.headers.getSetCookie();
  const viewer = new WebSocket(`${origin}/dashboard/live`, { headers: { cookie } });
  await new Promise((resolve, reject) => viewer.once("open", resolve).once("error", reject));
  const view = { type: "view", filter: "", onlyTrouble: false, offset: 0, count: 200, focus: null, logLevel: "info" };
  viewer.send(JSON.stringify(view));
  return viewer;
}
