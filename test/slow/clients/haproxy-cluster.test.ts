// Real clients behind the HAProxy of docs/how-to/cluster.md, whose players are on audio machines: one gateway after the
// other is killed under them. Each library has its session again by its own code, and no packet of the music is missing.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { codeBlocksOf } from "../../../docs/site/markdown.mjs";
import type { Machine } from "../../../lab/cluster/machines.ts";
import { freePort } from "../../../lab/free-port.ts";
import { RESTART_PASSWORD } from "../../../lab/restart/node-runs.ts";
import { requestNode } from "../../../lab/test-environment/rest-request.ts";
import { BoundClient } from "../../integration/clients/bound-client.ts";
import type { ClientBinding, RealClient } from "../../integration/clients/client-driver.ts";
import { lavalinkClient } from "../../integration/clients/npm/lavalink-client.ts";
import { repeatedShoukaku } from "../../integration/clients/npm/shoukaku.ts";
import { makeLongTone, PlayingBot } from "../../integration/clients/restart-story.ts";
import { isNatsMissing, natsTitle } from "../../support/nats-server.ts";
import { PROJECT_ROOT } from "../../support/project-files.ts";
import { framesBetween } from "../../support/steps-of.ts";
import { TestCluster } from "../../support/test-cluster.ts";
import { PythonClients } from "./python-clients.ts";

const PROGRAM = "/usr/sbin/haproxy";
const isProxyMissing = !existsSync(PROGRAM);
const TITLE = natsTitle(isProxyMissing ? "HAProxy (skipped: it is not installed)" : "HAProxy");
/** A dead machine is found out after 20 s, and some libraries try again only after 10. */
const BACK_MS_MAX = 90_000;
/** Longer with each try. */
const READY_MS = 10_000;
const TRIES = 4;
/** From one packet to the next: a starved machine may leave some frames out, less than any death would cost. */
const FRAMES_MAX = 50;

let python: PythonClients;
const wavelink = {
  name: "wavelink",
  create: (binding: ClientBinding) =>
    python.client({ name: "wavelink", driver: "wavelink_driver.py", afterDrop: "resumes" }).create(binding),
} as const;
/** shoukaku drops its node for good when connecting again fails in some ways: its bot lets it begin once more. */
const CLIENTS: readonly Pick<RealClient, "name" | "create">[] = [wavelink, lavalinkClient, repeatedShoukaku];

describe.skipIf(isNatsMissing || isProxyMissing)(TITLE, () => {
  let cluster: TestCluster;
  let proxy: HaProxy;
  const bots: PlayingBot[] = [];

  beforeAll(async () => {
    python = await PythonClients.install();
    const roles = ["gateway", "gateway", "gateway", "audio", "audio"] as const;
    cluster = await TestCluster.start({ files: { "song.wav": makeLongTone() }, roles });
    proxy = await HaProxy.start(gateways());
    const { discord, password, media } = cluster;
    for (const { name, create } of CLIENTS) {
      const client = await connected({ discord, password, port: proxy.port }, create);
      bots.push(await PlayingBot.begin(name, client, `${media.url}/song.wav`));
    }
  });
  afterAll(async () => {
    for (const { client } of bots) await client.close();
    await proxy?.close();
    await cluster?.close();
    await python?.remove();
  });

  it("clients resume at another gateway each time, and hear every packet of their players", async () => {
    const ids = await Promise.all(bots.map(({ client }) => client.driver.sessionId()));
    for (const machine of gateways()) {
      await machine.runs.end("SIGKILL");
      // A session is not found while its client is away.
      await expect.poll(() => Promise.all(ids.map(statusOf)), { timeout: BACK_MS_MAX }).toEqual(ids.map(() => 200));
      await Promise.all(bots.map((bot) => bot.expectMusic()));
      await machine.start();
    }
    expect(await Promise.all(bots.map(({ client }) => client.driver.sessionId()))).toEqual(ids);
    for (const { client } of bots) {
      const timestamps = client.listener.received.map(({ timestamp }) => timestamp);
      expect(Math.max(...framesBetween(timestamps))).toBeLessThanOrEqual(FRAMES_MAX);
      const session = cluster.discord.session(client.binding.guildId);
      expect([session.identifyCount, session.receiver.lostPackets]).toEqual([1, 0]);
      expect(client.receivedEvents.count("resumed")).toBeGreaterThan(0);
    }
    await Promise.all(bots.map((bot) => bot.expectControl()));
    expect(cluster.discord.overlaps).toEqual([]);
    expect(() => cluster.discord.assertClean()).not.toThrow();
  });

  function gateways(): readonly Machine[] {
    return [cluster.first, cluster.second, cluster.third];
  }

  async function statusOf(sessionId: string): Promise<number> {
    const access = { url: `http://127.0.0.1:${proxy.port}`, password: RESTART_PASSWORD };
    const path = `/v4/sessions/${sessionId}/players`;
    const answer = await requestNode(access, { method: "GET", path }).catch(() => ({ status: 0 }));
    return answer.status;
  }
});

/** Some clients miss a `ready` that comes with the handshake: then another one begins. */
async function connected(
  environment: Parameters<typeof BoundClient.take>[0],
  create: RealClient["create"],
): Promise<BoundClient> {
  for (let attempt = 1; ; attempt++) {
    const client = await BoundClient.take(environment, create);
    await client.driver.connect();
    try {
      await client.receivedEvents.once("ready", attempt * READY_MS);
      return client;
    } catch (error) {
      await client.close();
      if (attempt === TRIES) throw error;
    }
  }
}

/** HAProxy with the configuration of the page, with other addresses. */
class HaProxy {
  readonly port: number;
  readonly #folder: string;
  readonly #child: ChildProcess;

  private constructor(port: number, folder: string, child: ChildProcess) {
    this.port = port;
    this.#folder = folder;
    this.#child = child;
  }

  static async start(machines: readonly Machine[]): Promise<HaProxy> {
    const page = await readFile(`${PROJECT_ROOT}docs/how-to/cluster.md`, "utf8");
    const block = codeBlocksOf(page).find(({ code }) => code.startsWith("listen tonearm"))?.code ?? "";
    const port = await freePort();
    const config = machines.reduce(
      (text, machine, index) => text.replace(`10.0.0.${index + 1}:2333`, `127.0.0.1:${machine.port}`),
      block.replace("bind :2333", `bind 127.0.0.1:${port}`),
    );
    const folder = await mkdtemp(join(tmpdir(), "tonearm-haproxy-"));
    const file = join(folder, "config");
    await writeFile(file, `${config}\n`);
    const child = spawn(PROGRAM, ["-db", "-f", file], { stdio: "ignore" });
    const proxy = new HaProxy(port, folder, child);
    await vi.waitFor(() => isListening(port), { timeout: READY_MS });
    return proxy;
  }

  async close(): Promise<void> {
    this.#child.kill("SIGKILL");
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function isListening(port: number): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  socket.destroy();
}
