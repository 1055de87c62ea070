import { setImmediate as nextIteration } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { HOSTILE_SCRIPTS, REVERSE_SCRIPT, ROTATE_SCRIPT } from "../../../lab/sites/youtube/player-scripts.ts";
import { YOUTUBE_MANIFEST } from "../../../plugins/youtube/manifest.ts";
import type { PlayerScripts } from "../../../plugins/youtube/player-script.ts";
import { PreparedScripts } from "../../../plugins/youtube/prepared-scripts.ts";
import { ScriptUnlocker, type Solver } from "../../../plugins/youtube/script-unlocker.ts";
import type { SolverJob } from "../../../plugins/youtube/solver-session.ts";
import type { StartPort } from "../../../plugins/youtube/solver-thread.ts";
import type { PersistedValue, PluginLink, PluginLinkRequest } from "../../../src/bridge/plugin-messages.ts";
import { API_VERSION, type Cache, definePlugin } from "../../../src/plugin-api/plugin.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { until } from "../../support/input-builders.ts";
import { PluginBench } from "../../support/plugin-bench.ts";
import {
  inThisThread,
  startYoutubeBench,
  type YoutubeBench,
  type YoutubeBenchOptions,
} from "../../support/youtube-bench.ts";

const SIX_HOURS_MS = 6 * 60 * 60_000;

/** A solver whose jobs wait until it is open: all, or those with one script. */
class HeldSolver {
  readonly jobs: SolverJob[] = [];
  isOpen = true;
  heldScript = "";
  readonly #held: (() => void)[] = [];

  readonly startPort: StartPort = (on) => {
    const port = inThisThread()(on);
    return {
      post: (job) => {
        this.jobs.push(job);
        if (this.isOpen || !job.scriptId.includes(this.heldScript)) port.post(job);
        else this.#held.push(() => port.post(job));
      },
      end: () => port.end(),
    };
  };

  open(): void {
    this.isOpen = true;
    for (const post of this.#held.splice(0)) post();
  }
}

let open: YoutubeBench | undefined;

afterEach(async () => {
  await open?.close();
  open = undefined;
});

async function start(clients: readonly string[], more: YoutubeBenchOptions = {}): Promise<YoutubeBench> {
  await open?.close();
  open = await startYoutubeBench({ ...more, options: (site) => ({ ...site.options, clients, clientsOnly: "true" }) });
  return open;
}

const scriptsAsked = () => open?.site.site.requestsTo("www.youtube.com").filter(({ path }) => path.startsWith("/s/"));

const isStored = (id = ""): boolean => {
  const values = [...(open?.bench.persisted.values() ?? [])];
  return values.some(({ cache, key }) => cache === "prepared player script" && key.includes(id));
};

async function resolve(id: string, reason: PluginLinkRequest["reason"] = "start"): Promise<PluginLink> {
  const [track] = (await open?.bench.loadTracks("youtube", id)) ?? [];
  if (open === undefined) throw new Error("nothing is open");
  return open.bench.resolve("youtube", track?.encoded ?? "", { reason });
}

async function clientOf(link: Promise<PluginLink>): Promise<string | null> {
  const found = await link;
  return found.kind === "link" ? new URL(found.url).searchParams.get("c") : null;
}

describe("the player script", () => {
  test("the player script is prepared before the first link, if a chosen client needs it", async () => {
    const solver = new HeldSolver();
    await start(["VISIONOS", "MWEB"], { startPort: solver.startPort });
    await until(() => solver.jobs.length === 1);
    expect(open?.site.asked("player")).toEqual([]);
    await start(["VISIONOS"], { startPort: solver.startPort });
    expect(await clientOf(resolve("song0000001"))).toBe("VISIONOS");
    expect(solver.jobs).toHaveLength(1);
    expect(scriptsAsked()).toEqual([]);
  });

  test.each([
    [["MUSIC", "VISIONOS"], {}],
    [["MWEB", "VISIONOS"], { MWEB: { playback: "false" } }],
  ])("the player script is not fetched for %j, which do not play with it", async (clients, clientOptions) => {
    open = await startYoutubeBench({ options: (site) => ({ ...site.options, clients, clientOptions }) });
    expect(await clientOf(resolve("song0000001"))).toBe("VISIONOS");
    expect(open.site.site.requestsTo("www.youtube.com").filter(({ path }) => path === "/iframe_api")).toEqual([]);
  });

  test.each([
    ["11 s if no client does without it", ["MWEB", "WEB"], 10_999, "MWEB"],
    ["11 s if no client does without it, and then fails", ["MWEB", "WEB"], 11_000, "still being prepared; try again"],
  ])("a link waits for the player script for %s", async (_, clients, passedMs, expected) => {
    const clock = new FakeClock();
    const solver = new HeldSolver();
    solver.isOpen = false;
    const { bench } = await start(clients, { clock, startPort: solver.startPort });
    await until(() => solver.jobs.length === 1);
    const [track] = await bench.loadTracks("youtube", "song0000001");
    const timerCount = clock.setCount;
    let outcome: string | null | undefined;
    const link = clientOf(bench.resolve("youtube", track?.encoded ?? "")).catch(String);
    void link.then((found) => {
      outcome = found;
    });
    await until(() => clock.setCount > timerCount);
    await nextIteration();
    clock.advance(passedMs);
    // Another client that needs it does not wait again.
    await until(() => {
      clock.advance(0);
      if (expected === "MWEB") solver.open();
      return outcome !== undefined;
    });
    expect(outcome).toContain(expected);
    solver.open();
    expect(await clientOf(resolve("song0000002"))).toBe("MWEB");
  });

  test("no link waits for the player script while a client plays without it", async () => {
    const solver = new HeldSolver();
    solver.isOpen = false;
    const { site, bench } = await start(["MWEB", "VISIONOS"], { startPort: solver.startPort });
    expect(await clientOf(resolve("song0000001"))).toBe("VISIONOS");
    const [track] = await bench.loadTracks("youtube", "song0000002");
    site.fail({ at: /player$/, outcome: { status: 404, json: {} }, times: 1 });
    const askedCount = site.asked("player").length;
    const link = clientOf(bench.resolve("youtube", track?.encoded ?? ""));
    await until(() => site.asked("player").length > askedCount);
    solver.open();
    expect(await link).toBe("MWEB");
    expect(await clientOf(resolve("song-_00003"))).toBe("MWEB");
  });

  test("a player script that was too slow is no useless one: it is prepared again after a pause", async () => {
    const clock = new FakeClock();
    const solver = new HeldSolver();
    solver.isOpen = false;
    await start(["MWEB", "VISIONOS"], { clock, startPort: solver.startPort });
    const failureCount = () => open?.bench.lines.filter(({ level }) => level === "warn").length;
    for (const [index, { limitMs, pauseMs }] of [
      { limitMs: 15_000, pauseMs: 60_000 },
      { limitMs: 30_000, pauseMs: 120_000 },
    ].entries()) {
      await until(() => solver.jobs.length === index + 1);
      clock.advance(limitMs);
      await until(() => failureCount() === index + 1);
      clock.advance(pauseMs - 1);
      expect(await clientOf(resolve("song0000001", "expiring"))).toBe("VISIONOS");
      await nextIteration();
      expect([solver.jobs.length, scriptsAsked()?.length]).toEqual([index + 1, index + 1]);
      clock.advance(1);
      if (index === 1) solver.isOpen = true;
      expect(await clientOf(resolve("song0000001", "expiring"))).toBe("VISIONOS");
    }
    await until(() => solver.jobs.length === 3);
    await until(() => isStored());
    expect(await clientOf(resolve("song-_00003"))).toBe("MWEB");
  });

  test("a player script that was too slow is prepared again at once for a link that waits for it", async () => {
    const clock = new FakeClock();
    const solver = new HeldSolver();
    solver.isOpen = false;
    await start(["MWEB"], { clock, startPort: solver.startPort });
    await until(() => solver.jobs.length === 1);
    clock.advance(15_000);
    await until(() => open?.bench.lines.some(({ level }) => level === "warn") === true);
    solver.isOpen = true;
    expect(await clientOf(resolve("song0000001"))).toBe("MWEB");
  });

  test("a player script that turns no signatures is not used", async () => {
    const { site, bench } = await start(["MWEB", "VISIONOS"], {});
    site.script = { ...REVERSE_SCRIPT, text: REVERSE_SCRIPT.text.replace("var f=function(a){", "$&throw 1;") };
    await until(() => bench.lines.some(({ message }) => message.startsWith("YouTube player script failed")));
    expect(await clientOf(resolve("song0000001"))).toBe("VISIONOS");
    // It was asked what the video is, and for no link.
    expect(JSON.stringify(site.asked("player"))).not.toContain("signatureTimestamp");
  });

  test("a new player script is prepared while links are unlocked with the one before", async () => {
    const clock = new FakeClock();
    const solver = new HeldSolver();
    const { site, scriptAnswered } = await start(["MWEB"], { clock, startPort: solver.startPort });
    await scriptAnswered;
    const timestamps = () =>
      site.asked("player").flatMap(({ body }) => JSON.stringify(body).match(/"signatureTimestamp":(\d+)/)?.[1] ?? []);
    await resolve("song0000001");
    site.script = ROTATE_SCRIPT;
    solver.heldScript = ROTATE_SCRIPT.id;
    solver.isOpen = false;
    clock.advance(SIX_HOURS_MS);
    // The stand-in's links are for the new script already: only which one is asked for matters.
    expect(await clientOf(resolve("song0000002"))).toBe("MWEB");
    await until(() => solver.jobs.some(({ scriptId }) => scriptId.includes(ROTATE_SCRIPT.id)));
    expect(await clientOf(resolve("song-_00003"))).toBe("MWEB");
    expect(timestamps()).toEqual(["20777", "20777", "20777"]);
    solver.open();
    await until(() => isStored(ROTATE_SCRIPT.id));
    await resolve("dQw4w9WgXcQ");
    expect(timestamps().at(-1)).toBe("20778");
  });

  test("a link is unlocked with the script whose timestamp was sent for it", async () => {
    const asked: string[] = [];
    const solver: Solver = {
      solve: async ({ scriptId, challenges: { signature } }) => {
        asked.push(scriptId);
        return { solutions: { challenge: "solved", signature: signature === undefined ? undefined : "signature" } };
      },
      close: () => undefined,
    };
    let address = "1";
    // What is used of them.
    const scripts = {
      address: async () => address,
      load: async (url: string) => ({ url, signatureTimestamp: Number(url), text: "", isPrepared: true }),
    } as Partial<PlayerScripts> as PlayerScripts;
    const { name, version, config } = YOUTUBE_MANIFEST;
    const made: { unlocker?: ScriptUnlocker } = {};
    const bench = await PluginBench.start(
      definePlugin({
        name,
        version,
        config,
        apiVersion: API_VERSION,
        setup: (host) => {
          made.unlocker = new ScriptUnlocker({ host, scripts, solvers: [solver, solver], hasOtherClients: false });
        },
      }),
      {},
    );
    const unlocker = made.unlocker!; // it is set up
    const { signal } = new AbortController();
    expect(await unlocker.signatureTimestamp(signal)).toBe(1);
    address = "2";
    await unlocker.prepare();
    await nextIteration();
    expect(await unlocker.signatureTimestamp(new AbortController().signal)).toBe(2);
    asked.length = 0;
    await unlocker.open({ kind: "open", url: "https://a.googlevideo.com/?n=challenge" }, signal);
    expect(asked).toEqual(["1"]);
    bench.close();
  });
});

describe("a prepared player script", () => {
  async function stored(change = (value: PersistedValue): PersistedValue => value): Promise<PersistedValue[]> {
    const { bench } = await start(["MWEB"]);
    await until(() => isStored());
    return [...bench.persisted.values()].filter(({ cache }) => cache === "prepared player script").map(change);
  }

  test("a prepared player script is neither fetched nor prepared again by the next thread", async () => {
    const persisted = await stored();
    const solver = new HeldSolver();
    await start(["MWEB"], { persisted, startPort: solver.startPort });
    expect(await clientOf(resolve("song0000001"))).toBe("MWEB");
    expect(scriptsAsked()).toEqual([]);
    expect(solver.jobs.flatMap(({ script }) => script?.isPrepared ?? [])).toEqual([true]);
  });

  test.each([
    ["is damaged", (text: string) => text.replace(/"packed":"..../, '"packed":"AAAA')],
    ["is cut off", (text: string) => text.replace(/.{40}"\}$/, '"}')],
    ["is of another version", (text: string) => text.replace(/"digest":"..../, '"digest":"0000')],
    ["is something else", () => '["nothing"]'],
  ])("a stored player script that %s is fetched and prepared again", async (_, change) => {
    const persisted = await stored((value) => ({ ...value, json: change(value.json) }));
    await start(["MWEB"], { persisted });
    expect(await clientOf(resolve("song0000001"))).toBe("MWEB");
    expect(scriptsAsked()).toHaveLength(1);
  });

  test("a stored player script that unpacks to more than a script can be is not read", async () => {
    const cache = <Value>() => new Map<string, Value>() as unknown as Cache<Value>; // it has what is used
    const prepared = new PreparedScripts({ cache });
    for (const [sizeBytes, isRead] of [
      [8 * 2 ** 20, true],
      [9 * 2 ** 20, false],
    ] as const) {
      await prepared.set({ url: "x", signatureTimestamp: 1, code: "x".repeat(sizeBytes) });
      expect((await prepared.get("x")) !== undefined).toBe(isRead);
    }
  });

  test("a player script that fails is not stored", async () => {
    const solver = new HeldSolver();
    const { site, bench } = await start(["MWEB"], { startPort: solver.startPort });
    site.script = HOSTILE_SCRIPTS["answers the question"];
    await until(() => bench.lines.some(({ level }) => level === "warn"));
    expect([...bench.persisted.values()].map(({ cache }) => cache)).not.toContain("prepared player script");
  });
});
