// The dashboard's page in a browser, against a fake node: what an operator and a viewer see and can do.

import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { DashboardAction } from "../../../src/control/dashboard/live-messages.ts";
import { startChromium } from "../../support/chromium.ts";
import {
  HOSTILE_TITLE,
  incidentOf,
  machineRow,
  nodeSample,
  playerRow,
  stateMessage,
} from "../../support/dashboard-messages.ts";
import { goTo, logInAs, visit } from "../../support/dashboard-visit.ts";
import { FakeDashboardNode, PASSWORDS } from "../../support/fake-dashboard-node.ts";

const FIRST = playerRow(0);
const FIRST_PLAYER = { sessionId: FIRST.sessionId, guildId: FIRST.guildId };
const FIRST_HASH = `#/players/${FIRST.sessionId}/${FIRST.guildId}`;
const FIRST_TITLE = FIRST.track?.title ?? "";
const PLANNER = {
  class: "NanoIpRoutePlanner",
  details: {
    ipBlock: { type: "Inet6Address", size: "18446744073709551616" },
    failingAddresses: [{ failingAddress: "/2001:db8::7", failingTimestamp: 1, failingTime: "" }],
    currentAddressIndex: "77",
  },
} as const;

let browser: Browser;
let node: FakeDashboardNode;
let page: Page;

beforeAll(async () => {
  browser = await startChromium();
});
afterAll(() => browser.close());
beforeEach(async () => {
  node = new FakeDashboardNode(Array.from({ length: 50 }, (_, index) => playerRow(index)));
  node.changes = { routePlanner: PLANNER };
  await node.start();
  ({ page } = await visit(browser, node));
});
afterEach(async () => {
  await page.context().close();
  await node.stop();
});

const rows = () => page.locator("table.players tbody tr");
const position = (index: number) => rows().nth(index).locator("[data-position]");

/** `1:07` as 67. */
async function secondsOf(index: number): Promise<number> {
  const [minutes = 0, seconds = 0] = ((await position(index).textContent()) ?? "").split(":").map(Number);
  return minutes * 60 + seconds;
}

describe("logging in", () => {
  const tryPassword = async (password: string): Promise<void> => {
    await page.getByLabel("Password of the dashboard").fill(password);
    await page.getByRole("button", { name: "Log in" }).click();
  };

  test("a wrong password is reported, and after too many the time to wait", async () => {
    for (const _ of [1, 2, 3]) {
      const answered = page.waitForResponse(/login$/);
      await tryPassword("guess");
      expect((await answered).status()).toBe(403);
      await page.getByText("That password is wrong.").waitFor();
    }
    await tryPassword("guess");
    await page.getByText("Too many wrong passwords from this address. Try again in 7 s.").waitFor();
    expect(node.viewers).toBe(0);
  });

  test("the right password leads to the players; a reload does not ask for it, logging out does", async () => {
    await logInAs(page, "operator");
    await page.reload();
    await page.getByRole("heading", { name: "Players" }).waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Password of the dashboard").waitFor();
    expect(await page.getByText(FIRST_TITLE).count()).toBe(0);
    await page.reload();
    await page.getByLabel("Password of the dashboard").waitFor();
    await expect.poll(() => node.viewers).toBe(0);
  });

  test("a user whose login expires while the page is open is asked for the password", async () => {
    await logInAs(page, "viewer");
    node.forgetLogins();
    await page.getByLabel("Password of the dashboard").waitFor();
    expect(await page.getByText(FIRST_TITLE).count()).toBe(0);
  });
});

describe("the players", () => {
  beforeEach(() => logInAs(page, "operator"));

  test("all players are listed, and the positions of playing ones advance", async () => {
    expect(await rows().count()).toBe(50);
    node.change(0, { isPaused: true });
    await rows().first().getByText("paused").waitFor();
    const before = await Promise.all([secondsOf(0), secondsOf(1)]);
    await expect.poll(() => secondsOf(1)).toBeGreaterThanOrEqual((before[1] ?? 0) + 2);
    expect(await secondsOf(0)).toBe(0);
  });

  test("a stuttering player is first, with its cause, and announced to screen readers", async () => {
    node.change(30, { lastIncident: incidentOf({ start: Date.now(), isOver: false, cause: "workerLate" }) });
    await rows().first().getByText("worker too late, now").waitFor();
    expect(await rows().first().textContent()).toContain(playerRow(30).guildId);
    await page.getByRole("status").getByText("1 player stutters now.").waitFor();
  });

  test("a filter is applied by the node, and survives a reload", async () => {
    await page.getByLabel("Filter").fill("glass rain 1");
    await expect.poll(() => rows().count()).toBe(2);
    expect(node.views.at(-1)).toMatchObject({ filter: "glass rain 1", offset: 0, count: 100 });
    await page.reload();
    await expect.poll(() => rows().count()).toBe(2);
    expect(await page.getByLabel("Filter").inputValue()).toBe("glass rain 1");
    await page.getByLabel("Filter").fill("nothing like that");
    await page.getByText("No player matches in title").waitFor();
  });

  test("a filter shows only players with problems", async () => {
    node.change(7, { lastIncident: incidentOf({ start: Date.now() - 60_000 }) });
    await page.getByLabel("Only with trouble").check();
    await expect.poll(() => rows().count()).toBe(1);
    expect(node.views.at(-1)).toMatchObject({ onlyTrouble: true });
  });

  test("two hundred players are shown in pages of a hundred", async () => {
    node.rows = Array.from({ length: 200 }, (_, index) => playerRow(index));
    await page.getByText("1 to 100 of 200").waitFor();
    await page.getByRole("button", { name: "Next 100" }).click();
    await page.getByText("101 to 200 of 200").waitFor();
    await rows()
      .getByText(playerRow(199).track?.title ?? "", { exact: true })
      .waitFor();
    expect(node.views.at(-1)).toMatchObject({ offset: 100, count: 100 });
    expect(await page.getByRole("button", { name: "Next 100" }).isDisabled()).toBe(true);
  });

  test("a row that does not change is not drawn again, except for its position", async () => {
    await page.evaluate(`
      globalThis.changed = new Set();
      new MutationObserver((records) => {
        for (const { target } of records) changed.add((target.parentElement ?? target).outerHTML.slice(0, 40));
      }).observe(
        document.querySelector("table.players tbody"),
        { subtree: true, childList: true, characterData: true },
      );
    `);
    const before = await secondsOf(1);
    await expect.poll(() => secondsOf(1)).toBeGreaterThanOrEqual(before + 2);
    const changed = await page.evaluate<readonly string[]>("[...changed]");
    expect(changed.length).toBeGreaterThan(0);
    // The cost is another each time here, and shown with a decimal.
    expect(changed.filter((text) => !/^<td class="number">|^<span data-position|^<tr/.test(text))).toEqual([]);
  });

  test("untrusted names stay text, in one line, and link to web addresses only", async () => {
    const track = playerRow(0).track;
    const address = "javascript:alert(document.cookie)";
    node.change(0, { track: track && { ...track, title: HOSTILE_TITLE, uri: address, requester: HOSTILE_TITLE } });
    await rows().first().getByText("<img src=x").first().waitFor();
    expect(await page.locator("main img").count()).toBe(0);
    expect((await rows().first().boundingBox())?.height).toBeLessThan(80);
    await rows().first().getByRole("link").click();
    await page.getByRole("heading", { level: 1 }).getByText("<img src=x").waitFor();
    expect(await page.locator(`a[href^="javascript"]`).count()).toBe(0);
    expect(await page.title()).toBe("Player · Tonearm");
  });
});

describe("one player", () => {
  beforeEach(() => logInAs(page, "operator"));

  test("a click on a player's row shows why it stuttered, and the back button returns to the list", async () => {
    await rows().first().getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: FIRST_TITLE }).waitFor();
    expect(await page.evaluate("document.activeElement.tagName")).toBe("H1");
    const incidents = page.getByRole("region", { name: "Incidents, newest first" }).locator("tbody tr");
    expect(await incidents.allTextContents()).toHaveLength(3);
    expect(await incidents.first().textContent()).toContain("The track's server did not deliver in time");
    expect(await page.locator(".time-line rect").count()).toBe(3);
    await page.getByText("4.2 s").waitFor();
    const link = page.getByRole("link", { name: "https://music.example/0" });
    expect(await link.getAttribute("rel")).toBe("noreferrer noopener");
    expect(node.views.at(-1)?.focus).toEqual(FIRST_PLAYER);
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Players" }).waitFor();
    await expect.poll(() => node.views.at(-1)?.focus).toBeNull();
  });

  test("a player's page has its codec, volume, filters and region, and when it lost frames", async () => {
    await goTo(page, FIRST_HASH, FIRST_TITLE);
    const fact = (name: string) => page.locator(".facts > div").filter({ has: page.getByText(name, { exact: true }) });
    expect(await fact("Codec of the input").locator("dd").textContent()).toBe("aac, 128 kbit/s");
    expect(await fact("How it is made").locator("dd").textContent()).toBe("passed through");
    expect(await fact("Volume").locator("dd").textContent()).toBe("80 %");
    expect(await fact("Filters").locator("dd").textContent()).toBe("timescale, lowPass");
    expect(await fact("Region").locator("dd").textContent()).toBe("rotterdam");
    const chart = page.getByRole("img", { name: /^247 frames lost in the last hour, most at \d\d:\d\d:\d\d: 243$/ });
    expect(await chart.locator("rect").count()).toBe(2);
  });

  test("an untagged track is called by its file, in the table, on its page, and in questions", async () => {
    const track = playerRow(0).track;
    const untagged = {
      title: "Unknown title",
      author: "Unknown artist",
      uri: "https://u:<redacted>@cdn.example/a%20b.mp3?k=1",
    };
    node.change(0, { track: track && { ...track, ...untagged } });
    await rows().first().getByRole("link", { name: "a b.mp3" }).waitFor();
    expect(await rows().first().locator(".below").first().textContent()).toBe("cdn.example");
    await rows().first().getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: "a b.mp3" }).waitFor();
    await page.getByRole("button", { name: "Skip…" }).click();
    await page.getByRole("dialog", { name: "Skip “a b.mp3”?" }).waitFor();
  });

  test("a player that no longer exists is reported as gone", async () => {
    await goTo(page, FIRST_HASH, FIRST_TITLE);
    node.rows = node.rows.slice(1);
    await page.getByText("There is no such player now").waitFor();
  });
});

describe("each action needs a confirmation, and then runs", () => {
  interface Tried {
    readonly name: string;
    readonly hash: string;
    readonly heading: string;
    readonly button: string;
    readonly title: string;
    readonly confirm: string;
    readonly action: DashboardAction;
  }
  const player = { hash: FIRST_HASH, heading: FIRST_TITLE };
  const sources = { hash: "#/sources", heading: "Sources" };
  const address = "2001:db8::7";
  const TRIED: readonly Tried[] = [
    {
      ...player,
      name: "pause",
      button: "Pause…",
      title: `Pause “${FIRST_TITLE}”?`,
      confirm: "Pause",
      action: { kind: "pause", ...FIRST_PLAYER },
    },
    {
      ...player,
      name: "skip",
      button: "Skip…",
      title: `Skip “${FIRST_TITLE}”?`,
      confirm: "Skip",
      action: { kind: "skip", ...FIRST_PLAYER },
    },
    {
      ...player,
      name: "stop",
      button: "Stop…",
      title: `Stop “${FIRST_TITLE}”?`,
      confirm: "Stop",
      action: { kind: "stop", ...FIRST_PLAYER },
    },
    {
      name: "drain",
      hash: "#/node",
      heading: "Node",
      button: "Drain…",
      title: "Drain this node?",
      confirm: "Drain",
      action: { kind: "drain", isOn: true },
    },
    {
      ...sources,
      name: "reload",
      button: "Reload youtube…",
      title: "Reload the plugin youtube?",
      confirm: "Reload",
      action: { kind: "reloadPlugin", name: "youtube" },
    },
    {
      ...sources,
      name: "free",
      button: `Free ${address}…`,
      title: `Free the address ${address}?`,
      confirm: "Free",
      action: { kind: "freeAddress", address },
    },
    {
      ...sources,
      name: "free all",
      button: "Free all…",
      title: "Free all failing addresses?",
      confirm: "Free all",
      action: { kind: "freeAllAddresses" },
    },
  ];

  beforeEach(() => logInAs(page, "operator"));

  test.each(TRIED)("$name", async ({ hash, heading, button, title, confirm, action }) => {
    await goTo(page, hash, heading);
    const opener = page.getByRole("button", { name: button, exact: true });
    await opener.click();
    const dialog = page.getByRole("dialog", { name: title });
    await dialog.waitFor();
    const focused = (): Promise<string> => page.evaluate<string>("document.activeElement.textContent");
    expect(await focused()).toBe("Cancel");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await focused()).toBe(await opener.textContent());
    await opener.click();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    await opener.press("Enter");
    await dialog.getByRole("button", { name: confirm, exact: true }).click();
    await page.getByText(`Done: ${title.replace("?", "")}.`).waitFor();
    expect(node.actions).toEqual([action]);
  });

  test("a paused player is resumed, a draining node stops draining", async () => {
    node.change(0, { isPaused: true });
    await goTo(page, FIRST_HASH, FIRST_TITLE);
    await page.getByRole("button", { name: "Resume…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
    await expect.poll(() => node.actions).toEqual([{ kind: "resume", ...FIRST_PLAYER }]);
    node.changes = { isDraining: true };
    await goTo(page, "#/node", "Node");
    await page.getByRole("button", { name: "Stop draining…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Stop draining" }).click();
    await expect.poll(() => node.actions.at(-1)).toEqual({ kind: "drain", isOn: false });
  });

  test("an error of the node is shown until it is closed", async () => {
    node.answer = "the plugin could not be started: its file is gone";
    await goTo(page, "#/sources", "Sources");
    await page.getByRole("button", { name: "Reload youtube…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Reload" }).click();
    const failed = page.getByRole("alert").getByText("its file is gone");
    await failed.waitFor();
    await page.getByRole("button", { name: "Close this message" }).click();
    await failed.waitFor({ state: "detached" });
  });

  test("when the connection is lost during an action, the page says that its result is unknown", async () => {
    node.answer = undefined;
    await goTo(page, FIRST_HASH, FIRST_TITLE);
    await page.getByRole("button", { name: "Skip…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Skip" }).click();
    await expect.poll(() => node.actions.length).toBe(1);
    await node.stop();
    await page.getByText("whether it was done is not known").waitFor();
  });

  test("a support bundle is downloaded", async () => {
    await goTo(page, "#/node", "Node");
    await page.getByRole("button", { name: "Support bundle…" }).click();
    const downloading = page.waitForEvent("download");
    await page.getByRole("dialog").getByRole("button", { name: "Download" }).click();
    expect((await downloading).suggestedFilename()).toBe("tonearm-support.txt");
  });
});

describe("all machines of a cluster", () => {
  const fact = (name: string) => page.getByRole("row").filter({ has: page.getByRole("rowheader", { name }) });
  const REASON = "does not answer: the machine has not answered in 1000 ms";

  beforeEach(async () => {
    node.changes = {
      machines: [
        machineRow("node-1", { isThis: true }),
        machineRow("node-2", { troubles: [REASON], playing: null, players: 12, cpu: null, version: "0.2.0" }),
        machineRow("node-3", { isDraining: true, load: 0.9 }),
        machineRow("node-4", { goneSinceMs: Date.now() - 60_000, players: null, playing: null, load: null }),
      ],
    };
    await logInAs(page, "operator");
  });

  test("are listed on one page: which is unwell and why, which drains, and which is gone", async () => {
    await page.getByRole("link", { name: "Machines", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Machines" }).waitFor();
    await page.getByText("1 of 3 machines unwell").waitFor();
    await page.getByText("60 playing of 92 players").waitFor();
    await page.getByText("2 versions").waitFor();
    expect(await fact("node-1").textContent()).toMatch(/this one.*well.*40.*30.*20 %/);
    expect(await fact("node-2").textContent()).toMatch(/unwell.*does not answer: .* in 1000 ms.*12–/);
    expect(await fact("node-3").textContent()).toMatch(/draining.*90 %/);
    expect(await fact("node-4").textContent()).toMatch(/gone.*stopped or lost at/);
    expect(node.views.at(-1)).toMatchObject({ allMachines: true, count: 1 });
  });

  test("have their players on one page, each with its machine, and what is missing is said", async () => {
    node.change(3, { machine: { id: "id-node-3", name: "node-3" } });
    expect(node.views.at(-1)?.allMachines).toBeUndefined();
    await page.getByLabel("All machines").check();
    await expect.poll(() => node.views.at(-1)?.allMachines).toBe(true);
    await page.getByText("missing here").waitFor();
    expect(await page.locator("main").textContent()).toContain(`node-2 ${REASON}`);
    expect(await rows().nth(3).locator("td").last().textContent()).toBe("node-3");
    expect(await rows().nth(4).locator("td").last().textContent()).toBe("this one");
    await page.reload();
    await page.getByText("missing here").waitFor();
    expect(await page.getByLabel("All machines").isChecked()).toBe(true);
    await page.getByLabel("All machines").uncheck();
    await expect.poll(() => page.getByText("missing here").count()).toBe(0);
  });

  test("take an action on a player of another one", async () => {
    const machine = { id: "id-node-3", name: "node-3" };
    node.change(0, { machine });
    await page.getByLabel("All machines").check();
    await rows().first().getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: FIRST_TITLE }).waitFor();
    await expect.poll(() => node.views.at(-1)).toMatchObject({ allMachines: true, focus: FIRST_PLAYER });
    await page.getByRole("button", { name: "Pause…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
    await expect.poll(() => node.actions).toEqual([{ kind: "pause", ...FIRST_PLAYER, machineId: machine.id }]);
    await page.getByRole("link", { name: "All players" }).click();
    await page.getByRole("heading", { level: 1, name: "Players" }).waitFor();
    expect(await page.getByLabel("All machines").isChecked()).toBe(true);
  });

  test("have their sessions on one page", async () => {
    await page.getByRole("link", { name: "Sessions" }).click();
    await page.getByLabel("All machines").check();
    await expect.poll(() => node.views.at(-1)?.allMachines).toBe(true);
    await page.getByRole("link", { name: /players of session s0/ }).click();
    await expect.poll(() => node.views.at(-1)).toMatchObject({ allMachines: true, filter: "s0" });
  });

  test("are nothing to a node that is alone", async () => {
    await page.getByLabel("All machines").waitFor();
    node.changes = { cluster: { status: { kind: "disabled" }, machineCount: 0 } };
    await page.getByLabel("All machines").waitFor({ state: "detached" });
    expect(await page.getByRole("link", { name: "Machines", exact: true }).count()).toBe(0);
  });
});

describe("the node", () => {
  test("the charts are filled after a reload with the node's last hour", async () => {
    node.samples = Array.from({ length: 60 }, (_, index) => nodeSample(Date.now(), (60 - index) * 60_000));
    await logInAs(page, "viewer");
    await goTo(page, "#/node", "Node");
    await page.reload();
    const chart = page.locator(".chart").filter({ hasText: "Players that play" });
    await chart.getByText("at most 50 in 1 h").waitFor();
    expect(await chart.locator("polyline").count()).toBe(1);
    expect((await chart.locator("polyline").getAttribute("points"))?.split(" ").length).toBeGreaterThanOrEqual(60);
  });

  test("a full processor is amber, and the page says what late workers mean and what helps", async () => {
    await logInAs(page, "viewer");
    await goTo(page, "#/node", "Node");
    const processor = page.locator(".facts > div").filter({ hasText: "Processor" });
    await processor.getByText("17 % by the node").waitFor();
    expect(await processor.locator(".badge").count()).toBe(0);
    const help = page.getByText("the player shows “worker too late”. What helps: fewer players on this node");
    expect(await help.count()).toBe(0);
    const { stats } = stateMessage(node.rows);
    node.changes = { stats: { ...stats, cpu: { ...stats.cpu, systemLoad: 1 } } };
    await help.waitFor();
    expect(await processor.locator(".badge.warn").textContent()).toContain("100 % in all");
    const { load } = stateMessage(node.rows);
    const workers = load.workers.map((worker) => ({ ...worker, load: 0.1, latenessMax: 120 }));
    node.changes = { load: { ...load, workers } };
    await processor.getByText("17 % by the node").waitFor();
    expect(await help.textContent()).toContain("or a worker got the processor late");
  });
});

test("players that were interrupted at once are one row of the node, and named on the page of each of them", async () => {
  const start = Date.now() - 1_100_000;
  const { load } = stateMessage(node.rows);
  const shared = { start: start - 50_000, length: 100_000, players: 41, framesLost: 164 };
  node.changes = { load: { ...load, sharedIncidents: [shared] } };
  await logInAs(page, "viewer");
  await goTo(page, "#/node", "Node");
  const entries = page
    .getByRole("region", { name: "Interruptions of several players, newest first" })
    .locator("tbody tr");
  expect(await entries.count()).toBe(1);
  expect(await entries.locator("td").allTextContents()).toEqual(["1 min", "41", "164"]);
  await goTo(page, FIRST_HASH, FIRST_TITLE);
  await page.getByText("40 other players lost frames at the same time.").waitFor();
});

test("sessions say since when and from where they are, and that they were resumed", async () => {
  await logInAs(page, "viewer");
  await goTo(page, "#/sessions", "Sessions");
  const [first, second] = [page.locator("tbody tr").first(), page.locator("tbody tr").nth(1)];
  await first.getByText(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/).waitFor();
  for (const text of [/ago, resumed/, "192.0.2.7", "for 203.0.113.9", "night-bot (node 20)"]) {
    expect(await first.getByText(text).count()).toBe(1);
  }
  expect(await second.locator("td").nth(1).textContent()).toBe("–");
});

test("a viewer sees everything, and no action buttons", async () => {
  await logInAs(page, "viewer");
  const buttons: string[] = [];
  for (const [hash, heading] of [
    ["#/players", "Players"],
    [FIRST_HASH, FIRST_TITLE],
    ["#/node", "Node"],
    ["#/sources", "Sources"],
    ["#/sessions", "Sessions"],
  ] as const) {
    await goTo(page, hash, heading);
    buttons.push(...(await page.locator("main button").allTextContents()));
  }
  expect(buttons).toEqual([]);
  await page.getByText("night-bot/2.1").waitFor();
});

describe("without the node", () => {
  beforeEach(() => logInAs(page, "operator"));

  test("without the node the last values stay, and updates resume when it is back", async () => {
    await node.stop();
    await page.getByText("Connection to the node lost at").waitFor();
    expect(await rows().count()).toBe(50);
    const shown = await position(1).textContent();
    await goTo(page, FIRST_HASH, "Player");
    await page.goBack();
    await node.start();
    await page.getByText("Connection to the node lost at").waitFor({ state: "detached" });
    await page.getByText("The node is back.").waitFor();
    await expect.poll(() => position(1).textContent()).not.toBe(shown);
    expect(node.viewers).toBe(1);
  });

  test("a refused login shows the reason until the node accepts logins again", async () => {
    node.refusal = "16 pages are open; close one of them";
    await page.reload();
    await page.getByText("16 pages are open; close one of them.").waitFor();
    node.refusal = undefined;
    await page.getByText("16 pages are open").waitFor({ state: "detached" });
    await expect.poll(() => rows().count()).toBe(50);
  });

  test("a new version of the node makes the page ask for a reload", async () => {
    await node.stop();
    node.version = "0.2.0";
    await node.start();
    await page.getByText("The node is now version 0.2.0").waitFor();
    await page.getByRole("button", { name: "Load it again" }).click();
    await page.getByText("The node is now version 0.2.0").waitFor({ state: "detached" });
    await page.getByText("0.2.0").waitFor();
  });
});

describe("the log", () => {
  const lines = () => page.locator(".log li");

  beforeEach(async () => {
    await logInAs(page, "viewer");
    node.log("debug", "a detail");
    for (let number = 1; number <= 80; number += 1) node.log("info", `line ${number}`);
    node.log("error", "a worker was lost worker=1");
    await goTo(page, "#/log", "Log");
    await lines().getByText("a worker was lost").waitFor();
  });

  test("the log shows the newest line, filtered by level and text", async () => {
    await expect.poll(() => lines().last().isVisible()).toBe(true);
    const gap = `(() => { const { scrollHeight, scrollTop, clientHeight } = document.querySelector(".log");
      return scrollHeight - scrollTop - clientHeight; })()`;
    await expect.poll(() => page.evaluate<number>(gap)).toBeLessThan(2);
    expect(await lines().count()).toBe(81);
    await page.getByLabel("Filter").fill("WORKER=1");
    await expect.poll(() => lines().count()).toBe(1);
    await page.getByLabel("Filter").fill("");
    await page.getByLabel("Level").selectOption("error");
    await expect.poll(() => lines().count()).toBe(1);
    expect(node.views.at(-1)?.logLevel).toBe("error");
    await page.getByLabel("Level").selectOption("debug");
    await expect.poll(() => lines().count()).toBe(82);
    node.log("warn", "one more");
    await lines().getByText("one more").waitFor();
  });

  test("the log stops at a pause, which counts the lines since", async () => {
    await page.getByRole("button", { name: "Pause" }).click();
    node.log("warn", "while nobody looked");
    await page.getByText("1 more since the pause").waitFor();
    expect(await lines().count()).toBe(81);
    await page.getByRole("button", { name: "Pause" }).click();
    await lines().getByText("while nobody looked").waitFor();
  });

  test("the shown lines are copied, or selected where the browser does not let the page copy", async () => {
    await page.getByLabel("Filter").fill("line 1");
    await expect.poll(() => lines().count()).toBe(11);
    const writeText = "{ writeText: (text) => { globalThis.copied = text; return Promise.resolve(); } }";
    const giveClipboard = (clipboard: string) =>
      page.evaluate(`Object.defineProperty(navigator, "clipboard", { configurable: true, value: ${clipboard} })`);
    await giveClipboard(writeText);
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByRole("status").getByText("Copied.").waitFor();
    const copied = (await page.evaluate<string>("copied")).split("\n");
    expect(copied).toHaveLength(11);
    expect(copied[0]).toMatch(/^\d{4}-\d\d-\d\d .* INFO {2}line 1$/);
    await giveClipboard("undefined");
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByText("Selected: press Ctrl+C").waitFor();
    const selected = (await page.evaluate<string>("getSelection().toString()"))
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "");
    expect(selected).toEqual(copied);
  });

  test("the log is not requested from the node on another page", async () => {
    await goTo(page, "#/node", "Node");
    await expect.poll(() => node.views.at(-1)?.logLevel).toBeNull();
  });
});

describe("the theme", () => {
  const background = (): Promise<string> => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");

  test("the theme is the system's until the user chooses one, which is stored", async () => {
    await logInAs(page, "viewer");
    const light = await background();
    await page.emulateMedia({ colorScheme: "dark" });
    const dark = await background();
    expect(dark).not.toBe(light);
    await page.getByLabel("Theme").selectOption("light");
    expect(await background()).toBe(light);
    await page.reload();
    await page.getByRole("heading", { name: "Players" }).waitFor();
    expect(await background()).toBe(light);
    expect(await page.getByLabel("Theme").inputValue()).toBe("light");
  });
});

describe("the keyboard", () => {
  test("the keyboard logs in, skips to the content, and reaches the menu and the rows with a visible focus", async () => {
    await page.keyboard.type(PASSWORDS.operator);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Players" }).waitFor();
    await page.evaluate("document.activeElement.blur()");
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.id")).toBe("main");
    // Filter, trouble, all machines.
    for (let count = 0; count < 4; count++) await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe(FIRST_TITLE);
    expect(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")).toBe("solid");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: FIRST_TITLE }).waitFor();
  });

  test("the keyboard focus stays on its row when rows change places", async () => {
    await logInAs(page, "operator");
    await rows().nth(3).getByRole("link").focus();
    node.change(3, { lastIncident: incidentOf({ start: Date.now(), isOver: false }) });
    await rows().first().getByText("network slow, now").waitFor();
    expect(await page.evaluate("document.activeElement.textContent")).toBe(playerRow(3).track?.title);
  });
});
