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

/** Programs connect here, so that the test sees when they are there and when they are gone. */
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

  /** For a program: connects, tells its name, and ends when the test lets it. */
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

test("arguments arrive as they are: spaces, quotes, newlines, leading dashes, signs of shells", async () => {
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

test("whoever outlives this thread knows which programs run: told of each start, and of each exit", async () => {
  const reported: (readonly [number, boolean])[] = [];
  const programs = new Programs(systemClock, { onProgram: (...event) => reported.push(event) });
  const { stdout } = await node(programs, "process.stdout.write(String(process.pid))");
  expect(reported).toEqual([
    [Number(stdout), true],
    [Number(stdout), false],
  ]);
  // One that was killed is told of when it is gone, and not before.
  const running = node(programs, lobby.script("a"));
  running.catch(() => undefined);
  await lobby.arrived("a");
  programs.close();
  await expect(running).rejects.toThrow("the plugin is ended");
  await expect.poll(() => reported.map(([, isRunning]) => isRunning)).toEqual([true, false, true, false]);
  await expect(programs.run("/nonexistent/program", { signal: NEVER, args: [] })).rejects.toThrow("cannot be run");
  expect(reported).toHaveLength(4);
});

test("what it writes comes back whole, of its errors the end", async () => {
  const script = `process.stdout.write("ü".repeat(200_000)); process.stderr.write("start" + "é".repeat(9999) + "end");
    process.exitCode = 3;`;
  const { stdout, stderr, exitCode } = await node(new Programs(systemClock), script);
  expect(stdout).toBe("ü".repeat(200_000));
  expect(stderr).toBe(`${"é".repeat(4093)}end`);
  expect(exitCode).toBe(3);
});

test("one that is killed by a signal has no exit code", async () => {
  const result = await node(new Programs(systemClock), `process.kill(process.pid, "SIGKILL")`);
  expect(result.exitCode).toBeNull();
});

test("at the end of its time it is killed with what it has started", async () => {
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

test("what it leaves behind is killed, and its answer does not wait for that", async () => {
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

test("what has left its group cannot hold its answer back for longer than a second", async () => {
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

test("one that writes too much is killed", async () => {
  const script = `const more = () => process.stdout.write("x".repeat(65_536), more); more(); ${lobby.script("flood")}`;
  const running = node(new Programs(systemClock), script, { outputBytesMax: 1_000_000 });
  await expect(running).rejects.toMatchObject({
    kind: "changed",
    message: expect.stringMatching(/more than 1000000 bytes/),
  });
});

test("exactly as much as it may write is no fault, one byte more is", async () => {
  const programs = new Programs(systemClock);
  const script = `process.stdout.write("x".repeat(1000))`;
  expect((await node(programs, script, { outputBytesMax: 1000 })).stdout).toHaveLength(1000);
  await expect(node(programs, script, { outputBytesMax: 999 })).rejects.toMatchObject({ kind: "changed" });
});

test("one that nobody waits for any more is killed with what it has started", async () => {
  const abort = new AbortController();
  const script = `${lobby.scriptOfChild("grandchild")}; ${lobby.script("child")}`;
  const running = node(new Programs(systemClock), script, { signal: abort.signal });
  await Promise.all([lobby.arrived("child"), lobby.arrived("grandchild")]);
  abort.abort(new Error("nobody waits"));
  await expect(running).rejects.toThrow("nobody waits");
  await Promise.all([lobby.gone("child"), lobby.gone("grandchild")]);
});

test("one whose wish is aborted before its turn is never started", async () => {
  const programs = new Programs(systemClock);
  const running = node(programs, lobby.script("first"), { concurrencyMax: 1 });
  await lobby.arrived("first");
  const abort = new AbortController();
  const waiting = node(programs, lobby.script("second"), { concurrencyMax: 1, signal: abort.signal });
  abort.abort(new Error("nobody waits"));
  await expect(waiting).rejects.toThrow("nobody waits");
  lobby.release("first");
  await running;
  await node(programs, "");
  expect(lobby.names).toEqual(["first"]);
});

test("no more run at once than may", async () => {
  const programs = new Programs(systemClock);
  const running = ["one", "two", "three"].map((name) => node(programs, lobby.script(name)));
  await expect.poll(() => lobby.names.length).toBe(2);
  // As long as a further one takes, the third has been kept waiting.
  await node(programs, "", { concurrencyMax: 3 });
  expect(lobby.names).not.toContain("three");
  lobby.release("one");
  await lobby.arrived("three");
  lobby.release("two");
  lobby.release("three");
  await Promise.all(running);
});

test("a program that is missing is named without its path, and gives its place back", async () => {
  const programs = new Programs(systemClock);
  const missing = () => programs.run(join(folder, "none"), { args: [], signal: NEVER, concurrencyMax: 1 });
  await expect(missing()).rejects.toMatchObject({
    kind: "unreachable",
    message: expect.stringMatching(/^none cannot be run: there is no such/),
  });
  await expect(missing()).rejects.not.toThrow(folder);
  expect((await node(programs, "", { concurrencyMax: 1 })).exitCode).toBe(0);
});

test("a file that may not be executed is told as that", async () => {
  const path = join(folder, "a program");
  writeFileSync(path, "#!/bin/sh\n");
  chmodSync(path, 0o600);
  const running = new Programs(systemClock).run(path, { args: [], signal: NEVER });
  await expect(running).rejects.toMatchObject({
    kind: "unreachable",
    message: expect.stringMatching(/^a program cannot be run: it may not be/),
  });
});

test("what cannot be an argument is told as that", async () => {
  const programs = new Programs(systemClock);
  const running = (argument: string) => node(programs, "", { args: [argument] });
  await expect(running("a\0b")).rejects.toMatchObject({ kind: "invalid", message: expect.stringMatching(/zero byte/) });
  await expect(running("x".repeat(8 * 1024 * 1024))).rejects.toMatchObject({
    kind: "invalid",
    message: expect.stringMatching(/too long/),
  });
});

test("it inherits the environment, but no password or token", async () => {
  const env = {
    PATH: process.env.PATH,
    LANG: "C.UTF-8",
    LAVALINK_SERVER_PASSWORD: "x",
    SPOTIFY_CLIENT_SECRET: "x",
    API_TOKEN: "x",
  };
  const { stdout } = await node(
    new Programs(systemClock, { env }),
    "process.stdout.write(JSON.stringify(process.env))",
  );
  expect(Object.keys(JSON.parse(stdout))).toEqual(expect.arrayContaining(["PATH", "LANG"]));
  expect(stdout).not.toMatch(/PASSWORD|SECRET|TOKEN/);
});

test("when the plugin ends, all of its programs are killed, and those who wait are told", async () => {
  const programs = new Programs(systemClock);
  const running = node(programs, lobby.script("child"));
  await lobby.arrived("child");
  programs.close();
  await expect(running).rejects.toMatchObject({ kind: "unreachable" });
  await lobby.gone("child");
});
