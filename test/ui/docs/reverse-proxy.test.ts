// The proxies of docs/how-to/reverse-proxy.md, with the files that the page shows, in front of a node: what a client
// does through TLS.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { codeBlocksOf } from "../../../docs/site/markdown.mjs";
import { freePort } from "../../../lab/free-port.ts";
import { TEST_PASSWORD, type TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { Certificates } from "../../support/certificates.ts";
import { PROJECT_ROOT } from "../../support/project-files.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";

const HOST = "music.example.org";
const USER_ID = "100000000000000042";

interface Proxy {
  readonly name: string;
  readonly program: string;
  /** By what its block on the page begins with. */
  readonly starts: string;
  /** Adds the parts that the page leaves to the installation: listening address, certificates, separate folders. */
  prepare(block: string, setup: ProxySetup): string;
  args(file: string, setup: ProxySetup): readonly string[];
}

interface ProxySetup {
  readonly folder: string;
  readonly port: number;
  readonly nodePort: number;
}

const PROXIES: readonly Proxy[] = [
  {
    name: "nginx",
    program: "/usr/sbin/nginx",
    starts: "upstream tonearm",
    prepare: (block, { folder, port, nodePort }) => {
      const server = block
        .replace("listen 443 ssl", `listen 127.0.0.1:${port} ssl`)
        .replaceAll("127.0.0.1:2333", `127.0.0.1:${nodePort}`)
        .replaceAll(`/etc/letsencrypt/live/${HOST}/`, `${folder}/`);
      const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
        (kind) => `${kind}_temp_path ${folder}/${kind};`,
      );
      const around = `user root; pid ${folder}/pid; error_log ${folder}/errors; daemon off; events {}`;
      return `${around}\nhttp {\naccess_log off; ${paths.join(" ")}\n${server}\n}\n`;
    },
    args: (file, { folder }) => ["-p", folder, "-e", `${folder}/errors`, "-c", file],
  },
  {
    name: "Caddy",
    program: "/usr/bin/caddy",
    starts: HOST,
    prepare: (block, { folder, port, nodePort }) => {
      const site = block
        .replace(`${HOST} {`, `https://${HOST}:${port} {\n    tls ${folder}/fullchain.pem ${folder}/privkey.pem`)
        .replace("127.0.0.1:2333", `127.0.0.1:${nodePort}`);
      return `{\n    admin off\n    auto_https disable_redirects\n}\n${site}\n`;
    },
    args: (file) => ["run", "--config", file, "--adapter", "caddyfile"],
  },
  {
    name: "HAProxy",
    program: "/usr/sbin/haproxy",
    starts: "frontend https",
    prepare: (block, { folder, port, nodePort }) =>
      `global\n    tune.bufsize 32768\n${block
        .replace("bind :443", `bind 127.0.0.1:${port}`)
        .replace(`/etc/haproxy/${HOST}.pem`, `${folder}/both.pem`)
        .replace("127.0.0.1:2333", `127.0.0.1:${nodePort}`)}\n`,
    args: (file) => ["-db", "-f", file],
  },
];

let environment: TestEnvironment;
let blocks: readonly string[];
let certificates: Certificates;

beforeAll(async () => {
  environment = await startTestEnvironment();
  blocks = codeBlocksOf(await readFile(`${PROJECT_ROOT}docs/how-to/reverse-proxy.md`, "utf8")).map(({ code }) => code);
  certificates = new Certificates();
  certificates.make(HOST, { hosts: [HOST] });
});

afterAll(async () => {
  await environment.close();
  certificates.remove();
});

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once("connect", () => resolve(true));
    socket.once("error", () => resolve(false));
  });
  socket.destroy();
  return isOpen;
}

describe.each(PROXIES)("behind $name", ({ name, program, starts, prepare, args }) => {
  // Left out where the program is not installed; .ci/run installs all three.
  const check = test.skipIf(!existsSync(program)); // a machine without this proxy
  let port: number;
  let proxy: ChildProcess | undefined;
  let start: () => Promise<void>;

  beforeAll(async () => {
    if (!existsSync(program)) return;
    // Proxies cannot be asked for the port that they took.
    port = await freePort();
    const setup: ProxySetup = { folder: certificates.path(name), port, nodePort: environment.node.address.port };
    await mkdir(setup.folder);
    const [chain, key] = [certificates.read(`${HOST}.crt`), certificates.read(`${HOST}.key`)];
    const files = { "fullchain.pem": chain, "privkey.pem": key, "both.pem": chain + key };
    for (const [file, text] of Object.entries(files)) await writeFile(join(setup.folder, file), text);
    const block = blocks.find((code) => code.startsWith(starts)) ?? "";
    const file = join(setup.folder, "config");
    await writeFile(file, prepare(block, setup));
    start = async () => {
      const env = { ...process.env, HOME: setup.folder, XDG_DATA_HOME: setup.folder, XDG_CONFIG_HOME: setup.folder };
      proxy = spawn(program, args(file, setup), { cwd: setup.folder, env, stdio: "ignore" });
      await vi.waitFor(async () => expect(await isListening(port)).toBe(true), { timeout: 30_000 });
    };
    await start();
  });

  afterAll(stop);

  async function stop(): Promise<void> {
    if (proxy === undefined || proxy.exitCode !== null) return;
    const ended = once(proxy, "exit");
    proxy.kill();
    await ended;
  }

  async function ask(method: string, path: string, body?: string): Promise<{ status: number; text: string }> {
    const headers = { authorization: TEST_PASSWORD, host: HOST, "content-type": "application/json" };
    const options = {
      host: "127.0.0.1",
      port,
      servername: HOST,
      ca: certificates.read(`${HOST}.crt`),
      method,
      path,
      headers,
    };
    return new Promise((resolve, reject) => {
      const asked = request({ ...options, agent: false }, async (answer) => {
        let text = "";
        for await (const chunk of answer) text += chunk;
        resolve({ status: answer.statusCode ?? 0, text });
      });
      asked.on("error", reject).end(body);
    });
  }

  /** A session; `messages` grows. */
  async function open(
    sessionId?: string,
  ): Promise<{ socket: WebSocket; messages: { op: string; sessionId: string }[] }> {
    const headers: Record<string, string> = { authorization: TEST_PASSWORD, "user-id": USER_ID, host: HOST };
    if (sessionId !== undefined) headers["session-id"] = sessionId;
    const options = { ca: certificates.read(`${HOST}.crt`), servername: HOST, headers };
    const socket = new WebSocket(`wss://127.0.0.1:${port}/v4/websocket`, options);
    const messages: { op: string; sessionId: string; resumed?: boolean }[] = [];
    socket.on("message", (data) => messages.push(JSON.parse(String(data))));
    socket.on("error", () => undefined); // `close` follows
    await once(socket, "open");
    await expect.poll(() => messages[0]?.op).toBe("ready");
    return { socket, messages };
  }

  check("a client asks over TLS, with the password", async () => {
    expect(await ask("GET", "/version")).toMatchObject({ status: 200, text: "4.2.2" });
    expect((await ask("GET", "/v4/info")).status).toBe(200);
  });

  check("requests up to the node's own limits pass: 4 MB in a body, 12 KB in an address", async () => {
    // Not one of them is a track: what answers is the node.
    const body = JSON.stringify([
      "A".repeat(1_000_000),
      "B".repeat(1_000_000),
      "C".repeat(1_000_000),
      "D".repeat(900_000),
    ]);
    expect(await ask("POST", "/v4/decodetracks", body)).toMatchObject({ status: 400 });
    const { status, text } = await ask("GET", `/v4/loadtracks?identifier=unknown:${"x".repeat(12_000)}`);
    expect([status, JSON.parse(text).loadType]).toEqual([200, "empty"]);
  });

  check("a session is resumed after the proxy was restarted", async () => {
    const { socket, messages } = await open();
    const sessionId = messages[0]?.sessionId ?? "";
    const update = JSON.stringify({ resuming: true, timeout: 60 });
    expect((await ask("PATCH", `/v4/sessions/${sessionId}`, update)).status).toBe(200);
    const closed = once(socket, "close");
    await stop();
    await closed;
    await start();
    const again = await open(sessionId);
    expect(again.messages[0]).toMatchObject({ op: "ready", resumed: true, sessionId });
    again.socket.terminate();
  });
});
