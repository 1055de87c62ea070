// How each page looks: axe finds nothing serious, nothing scrolls sideways. DASHBOARD_PICTURES=folder keeps pictures.

import { mkdirSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { APPEARANCES, seriousFindings, startChromium } from "../../support/chromium.ts";
import { HOSTILE_TITLE, incidentOf, machineRow, playerRow } from "../../support/dashboard-messages.ts";
import { expectNoSidewaysScrolling, goTo, logInAs, visit } from "../../support/dashboard-visit.ts";
import { FakeDashboardNode } from "../../support/fake-dashboard-node.ts";

const PICTURES = process.env.DASHBOARD_PICTURES;
const PLANNER = {
  class: "RotatingNanoIpRoutePlanner",
  details: {
    ipBlock: { type: "Inet6Address", size: "18446744073709551616" },
    failingAddresses: ["2001:db8::7", "2001:db8::19"].map((address, index) => ({
      failingAddress: `/${address}`,
      failingTimestamp: Date.now() - 300_000 * (index + 1),
      failingTime: "",
    })),
    blockIndex: "0",
    currentAddressIndex: "77",
  },
} as const;

let browser: Browser;
let node: FakeDashboardNode;

beforeAll(async () => {
  const now = Date.now();
  const rows = Array.from({ length: 50 }, (_, index) => playerRow(index));
  node = new FakeDashboardNode(rows);
  node.change(5, { isPaused: true });
  node.change(8, { isConnected: false });
  node.change(11, { mode: "opening" });
  node.change(14, { track: null, mode: null, worker: null, cost: null });
  node.change(17, { framesLost: 50, lastIncident: incidentOf({ start: now, length: 0, isOver: false }) });
  node.change(20, { framesLost: 9, lastIncident: incidentOf({ start: now - 300_000, cause: "workerLate" }) });
  const track = playerRow(23).track;
  node.change(23, { track: track && { ...track, title: HOSTILE_TITLE, author: HOSTILE_TITLE } });
  const silent = "does not answer: the machine has not answered in 1000 ms";
  const machines = [
    machineRow("node-1", { isThis: true }),
    machineRow("node-2", { troubles: [silent], playing: null, cpu: null }),
    machineRow(HOSTILE_TITLE, { isDraining: true, load: 0.7 }),
    machineRow("node-4", { goneSinceMs: now - 60_000, players: null, playing: null, load: null }),
  ];
  node.changes = { routePlanner: PLANNER, machines };
  await node.start();
  node.log("info", "node started port=2333 workers=2");
  node.log("warn", "circuit breaker opened for youtube/WEB: 1 failure, retry in 240 s plugin=youtube backend=WEB");
  const trouble = "\n    Error: exited with code 1\n        at run (worker.js:12:7)";
  node.log("error", `audio worker lost, its players go on with another worker=1 x=${"x".repeat(400)}${trouble}`);
  browser = await startChromium();
  if (PICTURES !== undefined) mkdirSync(PICTURES, { recursive: true });
});
afterAll(async () => {
  await browser.close();
  await node.stop();
});

const player = playerRow(17);
const PAGES = [
  { name: "players", hash: "#/players", heading: "Players" },
  { name: "player", hash: `#/players/${player.sessionId}/${player.guildId}`, heading: player.track?.title ?? "" },
  { name: "all-players", hash: "#/players?machines=all", heading: "Players" },
  { name: "machines", hash: "#/machines", heading: "Machines" },
  { name: "node", hash: "#/node", heading: "Node" },
  { name: "sources", hash: "#/sources", heading: "Sources" },
  { name: "sessions", hash: "#/sessions", heading: "Sessions" },
  { name: "log", hash: "#/log", heading: "Log" },
];

describe.each(APPEARANCES)("in $scheme on a $width", (appearance) => {
  test("every page is fit for screen readers, keyboards and weak eyes, and as wide as the window", async () => {
    const { page, strays, problems } = await visit(browser, node, appearance);
    const inspected: object[] = [];
    const inspect = async (name: string): Promise<void> => {
      if (PICTURES !== undefined) {
        await page.screenshot({ path: `${PICTURES}/${name}-${appearance.scheme}-${appearance.width}.png` });
      }
      inspected.push({ name, findings: await seriousFindings(page) });
      await expectNoSidewaysScrolling(page);
    };
    await inspect("login");
    await logInAs(page, "operator");
    for (const { name, hash, heading } of PAGES) {
      await goTo(page, hash, heading);
      if (name === "log") await page.getByText("node started").waitFor();
      await inspect(name);
    }
    await goTo(page, "#/node", "Node");
    await page.getByRole("button", { name: "Drain…" }).click();
    await inspect("question");
    expect(inspected).toEqual(inspected.map((one) => ({ ...one, findings: [] })));
    expect(inspected.length).toBe(PAGES.length + 2);
    expect(strays).toEqual([]);
    // The browser itself logs the 401 of the login check.
    expect(problems.filter((text) => !text.includes("401"))).toEqual([]);
    await page.context().close();
  });
});
