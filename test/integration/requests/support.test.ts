// A node with secrets wherever one can be, and what a support bundle says of it: never one of them, in no form.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { countedSong } from "../../../lab/media-files/counted-song.ts";
import { Bot } from "../../../lab/test-environment/bot.ts";
import { TEST_PASSWORD } from "../../../lab/test-environment/test-environment.ts";
import { createNodeLogger } from "../../../src/log/log-pino.ts";
import { LogRing } from "../../../src/log/log-ring.ts";
import { KNOWN_SECRETS, leaksOf } from "../../support/known-secrets.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";

const BIN = fileURLToPath(new URL("../../../bin/tonearm.js", import.meta.url));
const [PHRASE = "", WORD = "", SIGNS = "", LETTERS = "", REFRESH = "", API_KEY = ""] = KNOWN_SECRETS;
const children: ChildProcess[] = [];
const folders: string[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function expectNoSecrets(text: string): void {
  expect(KNOWN_SECRETS.flatMap((secret) => leaksOf(secret, text))).toEqual([]);
}

/** Runs `tonearm`; `until` stops waiting for its end. */
async function run(cwd: string, args: readonly string[], until?: RegExp): Promise<{ output: string; errors: string }> {
  const env = {
    PATH: process.env.PATH,
    PLUGINS_YOUTUBE_OAUTH_REFRESHTOKEN: REFRESH,
    SENTRY_DSN: `https://${API_KEY}@h/1`,
  };
  const child = spawn(process.execPath, [BIN, ...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  let [output, errors] = ["", ""];
  const found = new Promise<void>((resolve) => {
    child.stdout.on("data", (data: Buffer) => {
      output += data.toString();
      if (until?.test(output)) resolve();
    });
  });
  child.stderr.on("data", (data: Buffer) => {
    errors += data.toString();
  });
  await Promise.race([found, once(child, "close")]);
  return { output, errors };
}

function folderWith(config: string): string {
  const folder = mkdtempSync(join(tmpdir(), "tonearm-"));
  folders.push(folder);
  writeFileSync(join(folder, "tonearm.yml"), config);
  return folder;
}

const CONFIG = `
lavalink:
  server:
    password: ${JSON.stringify(WORD)}
    httpConfig: { proxyHost: proxy.home.example, proxyUser: somebody-real, proxyPassword: ${JSON.stringify(PHRASE)} }
    sources: { local: true }
plugins:
  youtube: { enabled: true, pot: { token: ${JSON.stringify(SIGNS)} }, proxy: "http://alice:${WORD}@192.0.2.7:3128" }
  subsonic:
    servers: [{ name: home, url: "http://music.home.example:4533", username: u, password: ${JSON.stringify(LETTERS)} }]
`;

test("tonearm support describes a running node and the machine, without secrets", async () => {
  const folder = folderWith(CONFIG);
  const started = await run(folder, ["start", "--server.port=0"], /listening on http:\/\/127.0.0.1:\d+/);
  const [url = "", port = ""] = /http:\/\/127\.0\.0\.1:(\d+)/.exec(started.output) ?? [];
  const bot = await Bot.connect({ url, password: WORD, userId: "817327181659111454" });
  for (const secret of KNOWN_SECRETS) {
    await bot.load(`http://user:${encodeURIComponent(secret)}@127.0.0.1:1/x.mp3?token=${encodeURIComponent(secret)}`);
    await bot.request("PATCH", `/v4/sessions/${bot.sessionId}/players/817327181659111455`, { encodedTrack: secret });
  }
  const { output, errors } = await run(folder, ["support", "-", `--server.port=${port}`]);
  bot.close();
  expect(errors).toContain("Asking the node");
  expect(output).toContain("it has answered, see below");
  expect(output).toContain("sessions: 1");
  expect(output).toMatch(/^plugins\.youtube\.pot\.token +<redacted> {4}\(tonearm\.yml:\d+:\d+\)$/m);
  expect(output).toMatch(/^lavalink\.server\.sources\.local +true {4}\(tonearm\.yml:\d+:\d+\)$/m);
  expect(output).toMatch(
    /^plugins\.youtube\.oauth\.?refreshToken +<redacted> {4}\(environment variable PLUGINS_\w+\)$/im,
  );
  expect(output).toMatch(/^ok {4}Opus /m);
  expect(output).not.toMatch(/^fail /m);
  expectNoSecrets(output);
  for (const hidden of ["817327181659111454", bot.sessionId, "music.home.example", "proxy.home.example", "192.0.2.7"]) {
    expect(output).not.toContain(hidden);
  }
  expect(output.length).toBeLessThan(65_536);
});

test("without a node it says why, holds the rest and writes it to a file", async () => {
  const folder = folderWith(`server: { port: 1 }\n${CONFIG}`);
  const { errors } = await run(folder, ["support"]);
  const name = readdirSync(folder).find((file) => /^tonearm-support-\d{4}-\d\d-\d\d\.md$/.test(file));
  expect(errors).toContain(`Written to ${join(folder, name ?? "none")}`);
  const text = readFileSync(join(folder, name ?? ""), "utf8");
  expect(text).toContain("it is not there: 127.0.0.1, port 1: ECONNREFUSED; nothing listens there");
  expect(text).toContain("lavalink.server.password");
  expectNoSecrets(text);
});

test("tonearm support reports the mistakes of an invalid configuration without the values", async () => {
  const folder = folderWith(`server: { port: ${JSON.stringify(PHRASE)} }\n`);
  const { output } = await run(folder, ["support", "-"]);
  expect(output).toContain(
    'tonearm.yml:1:17: server.port: expected a whole number from 0 to 65535, found "<left out>"',
  );
  expect(output).toContain("the configuration is invalid, so the address of the node is unknown");
  expectNoSecrets(output);
});

test("the support report of a playing node describes its player, and its errors without their secrets", async () => {
  const logRing = new LogRing();
  const logger = createNodeLogger({ level: "debug", format: "json", stream: { write: () => true }, ring: logRing });
  const env = await startTestEnvironment({
    config: { LAVALINK_SERVER_PASSWORD: TEST_PASSWORD, LAVALINK_SERVER_HTTPCONFIG_PROXYPASSWORD: PHRASE },
    media: { files: { "private/song.ogg": countedSong({ seconds: 60 }) } },
    logger,
    logRing,
  });
  const bot = await env.connectBot();
  const guildId = "817327181659111454";
  await env.joinVoice(bot, { guildId });
  await bot.update(guildId, { track: { encoded: await bot.loadEncoded(`${env.media.url}/private/song.ogg`) } });
  await bot.untilEvent("TrackStartEvent");
  for (const secret of KNOWN_SECRETS) {
    logger.error(`it broke at http://user:${secret}@host/?key=${secret}`, {
      password: secret,
      guildId,
      body: Buffer.from(`x:${PHRASE}`).toString("base64"),
      title: "Never gonna",
      error: new Error("inner", { cause: new Error(`of ${PHRASE} at http://a:${encodeURIComponent(PHRASE)}@b/`) }),
    });
  }
  const headers = { authorization: TEST_PASSWORD };
  const ask = async () => (await fetch(`${env.url}/v4/tonearm/support`, { headers })).text();
  let text = "";
  const check = async () => {
    text = await ask();
    return text;
  };
  // Includes the report of its worker. The node does not answer requests in sequence.
  await expect.poll(check, { interval: 300 }).toContain("audio: passthrough 1");
  await env.close();
  expect(text).toContain("ERROR it broke at");
  expect(text).toMatch(/caused by: Error: of <redacted> at/);
  expect(text).toContain("playing from: http 1");
  expect(text.match(/guildId=id-\w{8}/g)).toHaveLength(KNOWN_SECRETS.length);
  expectNoSecrets(text);
  for (const hidden of [guildId, bot.sessionId, "Never gonna", "private/song"]) expect(text).not.toContain(hidden);
});
