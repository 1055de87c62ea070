// The container image as operators run it: its content, its writable folders, that it plays, that its health is
// reported correctly, and that it shuts down in order.

import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FakeDiscord } from "../../../lab/discord/fake-discord.ts";
import { freePort } from "../../../lab/free-port.ts";
import { MediaServer } from "../../../lab/media-server/media-server.ts";
import { Bot } from "../../../lab/test-environment/bot.ts";
import { MusicCall } from "../../support/music-call.ts";
import { PROJECT_ROOT } from "../../support/project-files.ts";
import { packetsOf, SONGS } from "../../support/song.ts";
import { Container, command, HARDENED, IMAGE_MISSING, IMAGE_NAME, PASSWORD } from "./engine.ts";

const LISTENING = /listening on /;

/** A node in a container with a complete configuration, at a separate port. */
async function startNode(variables: Readonly<Record<string, string>> = {}, options: readonly string[] = []) {
  const port = await freePort();
  const container = await Container.start({
    options: [...HARDENED, ...options],
    variables: { LAVALINK_SERVER_PASSWORD: PASSWORD, SERVER_PORT: String(port), ...variables },
  });
  await container.until(LISTENING);
  return { container, port };
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly dev?: boolean }>>;
}

interface Bill {
  readonly components: readonly { readonly name: string; readonly version: string }[];
}

// Needs a container engine; the reason is printed when there is none.
describe.skipIf(IMAGE_MISSING !== "")("the image", () => {
  test("the image declares its user, port, volume and health check", async () => {
    const { output } = await command("podman", ["image", "inspect", IMAGE_NAME]);
    const [{ Config, HealthCheck, Healthcheck = HealthCheck }] = JSON.parse(output);
    expect(Config).toMatchObject({
      User: "10001:10001",
      ExposedPorts: { "2333/tcp": {} },
      Volumes: { "/var/lib/tonearm": {} },
      Entrypoint: ["tonearm"],
      Cmd: ["start"],
      Labels: { "org.opencontainers.image.title": "Tonearm", "org.opencontainers.image.licenses": "MIT" },
    });
    expect(Healthcheck).toMatchObject({ Test: ["CMD", "tonearm", "health"], Retries: 3 });
    expect(Config.Env.join("\n")).not.toMatch(/PASSWORD=(?!true)/);
  });

  test("the image contains only files that are needed at run time, and a bill of materials", async () => {
    const files = "cd /opt/tonearm && ls && find . -xtype l && cat sbom.cdx.json";
    const { output } = await Container.run({ options: ["--entrypoint", "sh"], command: ["-c", files] });
    const start = output.indexOf("{");
    const names = output.slice(0, start).trim().split("\n");
    expect(names).toEqual(expect.arrayContaining(["bin", "dist", "node_modules", "LICENSE"]));
    expect(names.filter((name) => ["src", "lab", "test", ".git", "package-lock.json"].includes(name))).toEqual([]);
    const brokenLinks = names.filter((name) => name.startsWith("./"));
    expect(brokenLinks).toEqual([]);
    const bill: Bill = JSON.parse(output.slice(start));
    const lock: Lock = JSON.parse(readFileSync(`${PROJECT_ROOT}package-lock.json`, "utf8"));
    const listed = bill.components.map(({ name, version }) => `${name}@${version}`);
    expect(listed).toContain(`fastify@${lock.packages["node_modules/fastify"]?.version}`);
    expect(listed).toContain(`@snazzah/davey@${lock.packages["node_modules/@snazzah/davey"]?.version}`);
    const development = Object.entries(lock.packages).filter(([path, { dev }]) => path !== "" && dev === true);
    const tools = development.map(([path, { version }]) => `${path.split("node_modules/").at(-1)}@${version}`);
    expect(tools.length).toBeGreaterThan(100);
    expect(listed.filter((name) => tools.includes(name) || name.startsWith("@tonearm/"))).toEqual([]);
  });

  test("the image is writable only in its volume, even where its root file system is not read-only", async () => {
    const find = (location: string) =>
      `find ${location} -xdev -writable ! -type l ! -path '/proc/*' ! -path '/dev/*' ! -path '/sys/*' 2>/dev/null`;
    const shell = ["--entrypoint", "sh"];
    const listed = async (options: readonly string[], script: string) =>
      (await Container.run({ options: [...options, ...shell], command: ["-c", script] })).output.trim().split("\n");
    expect(await listed(HARDENED, `${find("/")}; id --user`)).toEqual(["/var/lib/tonearm", "10001"]);
    const probe = `touch /var/lib/tonearm/kept && ${find("/var/lib/tonearm")}`;
    expect(await listed(HARDENED, probe)).toEqual(["/var/lib/tonearm", "/var/lib/tonearm/kept"]);
    // Folders that are world-writable in every Debian.
    const open = ["/run/lock", "/tmp", "/var/tmp"];
    expect((await listed([], find("/"))).filter((path) => !open.includes(path))).toEqual(["/var/lib/tonearm"]);
  });

  test("the image does not start without a password, and says which variable sets one", async () => {
    const { status, output } = await Container.run({ options: HARDENED });
    expect(status).toBe(1);
    expect(output).toMatch(/^tonearm: the configuration has a mistake:\n.*LAVALINK_SERVER_PASSWORD\)\n$/);
  });

  test("the image has every codec, encryption and DAVE", async () => {
    const { status, output } = await Container.run({
      options: HARDENED,
      variables: { LAVALINK_SERVER_PASSWORD: PASSWORD },
      command: ["doctor", "--server.port=0"],
    });
    expect(output).toMatch(/^ok {4}DAVE /m);
    expect(output).toMatch(/^ok {4}AAC /m);
    expect(output).toMatch(/^ok {4}encoder /m);
    expect(output).not.toMatch(/^fail/m);
    expect(status).toBe(0);
  });
});

// Needs a container engine; the reason is printed when there is none.
describe.skipIf(IMAGE_MISSING !== "")("a node in a container", () => {
  test("a node in a container plays, read-only, without capabilities and in 256 MB, and closes in order", async () => {
    const discord = await FakeDiscord.start();
    const media = await MediaServer.start({ root: SONGS.pathname });
    const network = { TONEARM_NETWORK_ALLOW: "127.0.0.0/8", TONEARM_VOICE_GATEWAY_SCHEME: "ws" };
    const { container, port } = await startNode(network);
    const bots: Bot[] = [];
    try {
      expect(await container.exec("tonearm", "health")).toEqual({
        status: 0,
        output: `healthy: http://127.0.0.1:${port} answers\n`,
      });
      const status = (await container.exec("cat", "/proc/1/status")).output;
      expect(status).toMatch(/^Uid:\t10001\t10001\t10001\t10001$/m);
      expect(status).toMatch(/^CapBnd:\t0+$/m);
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);

      const connectBot = async () => {
        const bot = await Bot.connect({ url: `http://127.0.0.1:${port}`, password: PASSWORD });
        bots.push(bot);
        return bot;
      };
      const call = await MusicCall.join({ connectBot, discord, media });
      await call.play("chord.webm");
      expect(await call.ended()).toMatchObject({ reason: "finished" });
      await call.untilSilent();
      expect(call.receivedBy()).toEqual(await packetsOf("chord.webm"));
      await discord.arrived();
      discord.assertClean();

      await container.signal("SIGTERM");
      expect(await container.ended()).toBe(0);
      expect(await container.output()).toMatch(/closing signal=SIGTERM\n(?:.*\n)*.* closed\n$/);
      expect(await container.inspect("{{.State.OOMKilled}}")).toBe("false");
    } finally {
      for (const bot of bots) bot.close();
      await media.close();
      await discord.close();
    }
  });

  test("a node in a container is unhealthy while it hangs, and healthy again afterwards", async () => {
    const { container, port } = await startNode();
    await container.signal("SIGSTOP");
    // Another process of the same container: the engine has stopped only the first.
    expect(await container.exec("tonearm", "health")).toEqual({
      status: 1,
      output: expect.stringContaining(`unhealthy: http://127.0.0.1:${port} does not answer (no answer in time)\n`),
    });
    await container.signal("SIGCONT");
    expect((await container.exec("tonearm", "health")).status).toBe(0);
  });

  test("a node in a container reads a mounted application.yml; an empty SERVER_ADDRESS leaves the address to it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "tonearm-config-"));
    try {
      chmodSync(folder, 0o755);
      writeFileSync(join(folder, "application.yml"), "server:\n  address: 127.0.0.2\n");
      const mount = ["--volume", `${folder}:/etc/tonearm:ro`];
      const everywhere = await startNode({}, mount);
      expect(await everywhere.container.output()).toContain(`listening on http://0.0.0.0:${everywhere.port} `);
      const there = await startNode({ SERVER_ADDRESS: "" }, mount);
      expect(await there.container.output()).toContain("config=application.yml");
      expect((await there.container.exec("tonearm", "health")).output).toContain("healthy: http://127.0.0.2:");
      // As in compose files made for Lavalink.
      const asBefore = await startNode({ SERVER_ADDRESS: "" }, [
        ...["--volume", `${folder}/application.yml:/opt/Lavalink/application.yml:ro`],
      ]);
      expect(await asBefore.container.output()).toContain("config=config/application.yml");
      expect(await asBefore.container.output()).toContain("listening on http://127.0.0.2:");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
