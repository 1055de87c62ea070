// The compose files: the files they name exist, required settings are requested, and the node and a bot in it reach
// each other. Started by podman-compose, with a stand-in for the image of a bot.

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { sleep } from "../../../lab/sleep.ts";
import { PROJECT_ROOT } from "../../support/project-files.ts";
import { command, IMAGE_BASE, IMAGE_MISSING, PASSWORD } from "./engine.ts";

interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly build?: { readonly context: string };
}

interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
}

const FOLDER = join(PROJECT_ROOT, "deploy/compose");
/** Asks for its own node by the name and with the password that it is given. */
const BOT = `
  const { LAVALINK_HOST: host, LAVALINK_PORT: port, LAVALINK_SERVER_PASSWORD: authorization } = process.env;
  const ask = () => fetch("http://" + host + ":" + port + "/v4/info", { headers: { authorization } })
    .then((answer) => console.log("the node answers", answer.status), () => setTimeout(ask, 100));
  ask();
`;
const POLLS_MAX = 300;

const started: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of started.splice(0)) await stop();
});

function compose(folder: string, variables: Readonly<Record<string, string>>, ...args: string[]) {
  const given = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  return command("env", [...given, "podman-compose", ...args], join(FOLDER, folder));
}

describe.each([
  ["bot/compose.yml", "bot/.env.example"],
  ["monitoring/compose.yml", "monitoring/.env.example"],
  ["cluster.yml", "cluster/.env.example"],
])("compose/%s", (path, examplePath) => {
  const text = readFileSync(join(FOLDER, path), "utf8");
  const { services }: ComposeFile = parse(text, { merge: true });
  const all = Object.values(services);

  test("all mounted files and build contexts of the compose file exist", () => {
    const files = all.flatMap(({ volumes = [], build }) => [
      ...volumes.map((volume) => volume.split(":", 1)[0] ?? "").filter((source) => source.startsWith(".")),
      ...(build === undefined ? [] : [join(build.context, "Dockerfile")]),
    ]);
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((named) => !existsSync(resolve(FOLDER, dirname(path), named)))).toEqual([]);
  });

  test("the compose file publishes ports on this machine only", () => {
    expect(all.flatMap(({ ports = [] }) => ports).filter((port) => !port.startsWith("127.0.0.1:"))).toEqual([]);
  });

  test("the compose file requires every secret and contains none; the example names all of them", () => {
    const asked = text.match(/\$\{[^}]+\}/g) ?? [];
    expect(asked.filter((variable) => !/^\$\{[A-Z_]+:\?[^}]+\}$/.test(variable))).toEqual([]);
    const example = readFileSync(join(FOLDER, examplePath), "utf8");
    const names = new Set(asked.map((variable) => variable.slice(2, variable.indexOf(":"))));
    expect(new Set(example.match(/^[A-Z_]+(?==$)/gm))).toEqual(names);
    const secrets = all.flatMap(({ environment = {} }) => Object.entries(environment));
    expect(secrets.filter(([name, value]) => /PASSWORD|TOKEN|KEY$/.test(name) && !/^'?\$\{/.test(value))).toEqual([]);
  });
});

/** Programs that check the files of the cluster; they are skipped where they are missing. */
const HAPROXY = ["/usr/sbin/haproxy"].find((path) => existsSync(path));
const NATS_SERVER = [join(homedir(), "go/bin/nats-server"), "/usr/local/bin/nats-server"].find((path) =>
  existsSync(path),
);

describe("compose/cluster", () => {
  test.skipIf(HAPROXY === undefined)("HAProxy accepts the load balancer's configuration", () => {
    const file = join(FOLDER, "cluster/haproxy.cfg");
    expect(spawnSync(HAPROXY ?? "", ["-c", "-f", file], { encoding: "utf8" })).toMatchObject({ status: 0 });
  });

  test.skipIf(NATS_SERVER === undefined)("a NATS server accepts its configuration with any token", () => {
    const folder = mkdtempSync(join(tmpdir(), "tonearm-nats-"));
    try {
      const file = join(folder, "nats.conf");
      const text = readFileSync(join(FOLDER, "cluster/nats.conf"), "utf8");
      writeFileSync(file, text.replace("/data", folder));
      // Without the quotes that the compose file adds, this would be a number.
      const env = { NATS_TOKEN: "'12k'" };
      const args = ["-t", "--config", file, "--name", "nats-1"];
      expect(spawnSync(NATS_SERVER ?? "", args, { env, encoding: "utf8" })).toMatchObject({ status: 0 });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

// Needs a container engine; the reason is printed when there is none.
describe.skipIf(IMAGE_MISSING !== "")("node and bot", () => {
  test("nothing starts without a password", async () => {
    const { status, output } = await compose("bot", {}, "up", "--detach", "--no-build");
    expect(status).not.toBe(0);
    expect(output).toContain("copy .env.example to .env and set a password");
  });

  test("the bot reaches the node by its name, with its password; no other container does", async () => {
    const folder = mkdtempSync(join(tmpdir(), "tonearm-compose-"));
    const override = join(folder, "bot.yml");
    writeFileSync(override, JSON.stringify({ services: { bot: { restart: "no", command: ["node", "-e", BOT] } } }));
    const variables = { LAVALINK_SERVER_PASSWORD: PASSWORD, BOT_IMAGE: IMAGE_BASE, DISCORD_TOKEN: "none" };
    const files = ["-f", "compose.yml", "-f", override];
    started.push(async () => {
      await compose("bot", variables, ...files, "down", "--volumes");
      // With the bridge of this machine that was made for it.
      await command("podman", ["network", "rm", "--force", "bot_bots"]);
      rmSync(folder, { recursive: true });
    });
    const { status, output } = await compose("bot", variables, ...files, "up", "--detach", "--no-build");
    expect({ status, output }).toMatchObject({ status: 0 });
    let reported = "";
    for (let poll = 0; poll < POLLS_MAX && !reported.includes("answers"); poll++) {
      reported = (await command("podman", ["logs", "bot_bot_1"])).output;
      await sleep(100);
    }
    expect(reported).toContain("the node answers 200");
    expect((await command("podman", ["exec", "bot_tonearm_1", "tonearm", "health"])).status).toBe(0);
    expect((await command("podman", ["port", "bot_tonearm_1"])).output).toBe("");
  });
});
