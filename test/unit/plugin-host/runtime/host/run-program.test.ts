import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../../../../src/lib/clock.ts";
import type { RunOptions } from "../../../../../src/plugin-api/plugin.ts";
import { Programs } from "../../../../../src/plugin-host/runtime/host/run-program.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

const NEVER = new AbortController().signal;

/** Programs connect here, so that the test sees when they start and end. */
class Lobby {
  readonly names: string[] = [];
  readonly #sockets = new Map<string, Socket>();
  readonly #server: Server;

  static async open(): Promise<Lobby> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Lobby(server);
  }

  private constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket) => {
      // One that is killed may leave with a reset.
      socket.on("error", () => undefined);
      socket.once("data", (name) => {
        this.names.push(String(name));
        this.#sockets.set(String(name), socket);
      });
    });
  }

  /** Code for a program: connects, sends its name, and ends when the test allows it. */
  script(name: string): string {
    const { port } = this.#server.address() as AddressInfo; // listens on TCP
    return `const s = require("node:net").connect(${port}, "127.0.0.1"); s.write("${name}");
      s.on("error", () => process.exit()); s.on("close", () => process.exit());`;
  }

  /** Starts another program that is as `script` says, with this one's output. */
  scriptOfChild(name: string, more = ""): string {
    const options = `{ stdio: ["ignore", "inherit", "inherit"] ${more} }`;
    const script = JSON.stringify(this.script(name));
    return `require("node:child_process").spawn(process.execPath, ["-e", ${script}], ${options})`;
  }

  async arrived(name: string): Promise<void> {
    await expect.poll(() => this.names).toContain(name);
  }

  async gone(name: string): Promise<void> {
    await expect.poll(() => this.#sockets.get(name)?.closed).toBe(true);
  }

  release(name: string): void {
    this.#sockets.get(name)?.destroy();
  }

  close(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
    this.#server.close();
  }
}

let lobby: Lobby;
let folder: string;
beforeEach(async () => {
  lobby = await Lobby.open();
  folder = mkdtempSync(join(tmpdir(), "programs-"));
});
afterEach(() => {
  lobby.close();
  rmSync(folder, { recursive: true });
});

function node(programs: Programs, script: string, options: Partial<RunOptions> = {}) {
  return programs.run(process.execPath, { signal: NEVER, ...options, args: ["-e", script, ...(options.args ?? [])] });
}

test("program arguments arrive unchanged: spaces, quotes, newlines, leading dashes, shell characters", async () => {
  const args = [
    "a b",
    `"quoted" 'twice'`,
    "one\ntwo",
    "-x",
    "--exec=rm",
    "$HOME `id` $(id); | & > * ~",
    "",
    "\\",
    "ü😀",
  ];
  const script = "process.stdout.write(JSON.stringify(process.argv.slice(1)))";
  const { stdout } = await node(new Programs(systemClock), script, { args: ["--", ...args] });
  expect(JSON.parse(stdout)).toEqual(args);
});

test("each start and exit of a program is reported, so that a program can be killed after the thread's end", async () => {
  const reported: (readonly [number, boolean])[] = [];
  const programs = new Programs(systemClock, { onProgram: (...event) => reported.push(event) });
  const { stdout } = await node(programs, "process.stdout.write(String(process.pid))");
  expect(reported).toEqual([
    [Number(stdout), true],
    [Number(stdout), false],
  ]);
  // A killed program is reported when it has ended, not before.
  const running = node(programs, lobby.script("a"));
  running.catch(() => undefined);
  await lobby.arrived("a");
  programs.close();
  await expect(running).rejects.toThrow("the plugin is ended");
  await expect.poll(() => reported.map(([, isRunning]) => isRunning)).toEqual([true, false, true, false]);
  await expect(programs.run("/nonexistent/program", { signal: NEVER, args: [] })).rejects.toThrow("cannot be run");
  expect(reported).toHaveLength(4);
});

test("a program's output is returned completely, of its errors only the end", async () => {
  const script = `process.stdout.write("ü".repeat(200_000)); process.stderr.write("start" + "é".repeat(9999) + "end");
    process.exitCode = 3;`;
  const { stdout, stderr, exitCode } = await node(new Programs(systemClock), script);
  expect(stdout).toBe("ü".repeat(200_000));
  expect(stderr).toBe(`${"é".repeat(4093)}end`);
  expect(exitCode).toBe(3);
});

test("a program that is killed by a signal has no exit code", async () => {
  const result = await node(new Programs(systemClock), `process.kill(process.pid, "SIGKILL")`);
  expect(result.exitCode).toBeNull();
});

test("a program is killed with its children at its timeout", async () => {
  const clock = new FakeClock();
  const script = `${lobby.scriptOfChild("grandchild")}; ${lobby.script("child")}`;
  const running = node(new Programs(clock), script, { timeoutMs: 5000 });
  await Promise.all([lobby.arrived("child"), lobby.arrived("grandchild")]);
  clock.advance(5000);
  await expect(running).rejects.toMatchObject({
    kind: "unreachable",
    message: expect.stringMatching(/did not finish within 5000 ms/),
  });
  await Promise.all([lobby.gone("child"), lobby.gone("grandchild")]);
  expect(clock.pendingCount).toBeLessThanOrEqual(1);
});

test("a program's leftover children are killed, and its result does not wait for them", async () => {
  const clock = new FakeClock();
  const script = `const child = ${lobby.scriptOfChild("left")}; child.unref();
    const wait = setInterval(() => {}, 1000);
    ${lobby.script("child")} s.on("close", () => { clearInterval(wait); }); process.stdout.write("answer");`;
  const running = node(new Programs(clock), script);
  await Promise.all([lobby.arrived("child"), lobby.arrived("left")]);
  lobby.release("child");
  expect((await running).stdout).toBe("answer");
  await lobby.gone("left");
});

test("a process that left the group delays the result by a second at most", async () => {
  const clock = new FakeClock();
  const script = `const child = ${lobby.scriptOfChild("daemon", ", detached: true")}; child.unref();
    ${lobby.script("child")} process.stdout.write("answer");`;
  const running = node(new Programs(clock), script);
  await Promise.all([lobby.arrived("child"), lobby.arrived("daemon")]);
  lobby.release("child");
  // The limit of time, and the second.
  await expect.poll(() => clock.pendingCount).toBe(2);
  clock.advance(1000);
  expect((await running).stdout).toBe("answer");
  expect(clock.pendingCount).toBe(0);
});

test("a program that writes too much is killed", async () => {
  const script = `const more = () => process.stdout.write("x".repeat(65_536), more); more(); ${lobby.script("flood")}`;
  const running = node(new Programs(systemClock), script, { outputBytesMax: 1_000_000 });
  await expect(running).rejects.toMatchObject({
    kind: "changed",
    message: expect.stringMatching(/more than 1000000 bytes/),
  });
});

test("a program may write exactly the limit, but not one byte more", async () => {
  const programs = new Programs(systemClock);
  const script = `process.stdout.write("x".repeat(1000))`;
  expect((await node(programs, script, { outputBytesMax: 1000 })).stdout).toHaveLength(1000);
  await expect(node(programs, script, { outputBytesMax: 999 })).rejects.toMatchObject({ kind: "changed" });
});

test("a program whose caller no longer waits is killed with its children", async () => {
  const abort = new AbortController();
  const script = `${lobby.scriptOfChild("grandchild")}; ${lobby.script("child")}`;
  const running = node(new Programs(systemClock), script, { signal: abort.signal });
  await Promise.all([lobby.arrived("child"), lobby.arrived("grandchild")]);
  abort.abort(new Error("aborted"));
  await expect(running).rejects.toThrow("aborted");
  await Promise.all([lobby.gone("child"), lobby.gone("grandchild")]);
});

test("a run that is aborted before it has a permit is never started", async () => {
  const programs = new Programs(systemClock);
  const running = node(programs, lobby.script("first"), { concurrencyMax: 1 });
  await lobby.arrived("first");
  const abort = new AbortController();
  const waiting = node(programs, lobby.script("second"), { concurrencyMax: 1, signal: abort.signal });
  abort.abort(new Error("aborted"));
  await expect(waiting).rejects.toThrow("aborted");
  lobby.release("first");
  await running;
  await node(programs, "");
  expect(lobby.names).toEqual(["first"]);
});

test("no more programs run at once than allowed", async () => {
  const programs = new Programs(systemClock);
  const running = ["one", "two", "three"].map((name) => node(programs, lobby.script(name)));
  await expect.poll(() => lobby.names.length).toBe(2);
  // The third has waited as long as a further one takes.
  await node(programs, "", { concurrencyMax: 3 });
  expect(lobby.names).not.toContain("three");
  lobby.release("one");
  await lobby.arrived("three");
  lobby.release("two");
  lobby.release("three");
  await Promise.all(running);
});

test("a missing program is named without its path, and releases its permit", async () => {
  const programs = new Programs(systemClock);
  const missing = () => programs.run(join(folder, "none"), { args: [], signal: NEVER, concurrencyMax: 1 });
  await expect(missing()).rejects.toMatchObject({
    kind: "unreachable",
    message: expect.stringMatching(/^none cannot be run: there is no such/),
  });
  await expect(missing()).rejects.not.toThrow(folder);
  expect((await node(programs, "", { concurrencyMax: 1 })).exitCode).toBe(0);
});

test("a file that may not be executed is reported as such", async () => {
  const path = join(folder, "a program");
  writeFileSync(path, "#!/bin/sh\n");
  chmodSync(path, 0o600);
  const running = new Programs(systemClock).run(path, { args: [], signal: NEVER });
  await expect(running).rejects.toMatchObject({
    kind: "unreachable",
    message: expect.stringMatching(/^a program cannot be run: it may not be/),
  });
});

test("an invalid argument is reported as such", async () => {
  const programs = new Programs(systemClock);
  const running = (argument: string) => node(programs, "", { args: [argument] });
  await expect(running("a\0b")).rejects.toMatchObject({ kind: "invalid", message: expect.stringMatching(/zero byte/) });
  await expect(running("x".repeat(8 * 1024 * 1024))).rejects.toMatchObject({
    kind: "invalid",
    message: expect.stringMatching(/too long/),
  });
});

test("a program gets only the part of the node's environment that any program needs", async () => {
  const passedOn = {
    PATH: process.env.PATH,
    HOME: folder,
    LANG: "C.UTF-8",
    LC_ALL: "C.UTF-8",
    TZ: "UTC",
    https_proxy: "http://proxy:3128",
    NO_PROXY: "localhost",
  };
  const others = {
    DATABASE_URL: "postgres://name:word@database",
    REDIS: "redis://cache",
    SENTRY_DSN: "https://x@sentry",
    LAVALINK_SERVER_PASSWORD: "x",
    LD_PRELOAD: "",
    NODE_OPTIONS: "",
    PATH_TO_SECRETS: "/secrets",
  };
  const { stdout } = await node(
    new Programs(systemClock, { env: { ...passedOn, ...others } }),
    "process.stdout.write(JSON.stringify(process.env))",
  );
  expect(JSON.parse(stdout)).toEqual(passedOn);
});

test("a program of a plugin that names no environment sees none of the node's own variables", async () => {
  process.env.TONEARM_TEST_DATABASE = "postgres://database";
  try {
    const { stdout } = await node(new Programs(systemClock), "process.stdout.write(JSON.stringify(process.env))");
    expect(Object.keys(JSON.parse(stdout))).toContain("PATH");
    expect(stdout).not.toContain("TONEARM_TEST_DATABASE");
  } finally {
    delete process.env.TONEARM_TEST_DATABASE;
  }
});

test("the end of the plugin kills all its programs, and rejects their callers", async () => {
  const programs = new Programs(systemClock);
  const running = node(programs, lobby.script("child"));
  await lobby.arrived("child");
  programs.close();
  await expect(running).rejects.toMatchObject({ kind: "unreachable" });
  await lobby.gone("child");
});
