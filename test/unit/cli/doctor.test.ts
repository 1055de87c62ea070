import { createServer } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { clockCheck } from "../../../src/cli/doctor/audio-checks.ts";
import { checkLine, within } from "../../../src/cli/doctor/check.ts";
import {
  addressesCheck,
  dnsCheck,
  portCheck,
  udpCheck,
  udpRouteCheck,
} from "../../../src/cli/doctor/network-checks.ts";
import { runDoctor } from "../../../src/cli/doctor/run-doctor.ts";
import { loadConfig } from "../../../src/config/load-config.ts";

const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

function serverConfig(port: number) {
  return loadConfig({ args: [`--server.port=${port}`], env: {}, cwd: "/", readFile: () => undefined }).config.server;
}

async function takenPort(): Promise<number> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** A clock that wakes every thread at once. */
const measureLateness = async () => Array<number>(100).fill(0);

const noName = () => Promise.reject(new Error("ENOTFOUND"));

describe("doctor", () => {
  test("a port that another program has fails, with advice", async () => {
    const result = await portCheck(serverConfig(await takenPort())).run();
    expect(result).toMatchObject({ status: "fail", advice: expect.stringContaining("another program") });
  });

  test("a free port is fine", async () => {
    expect(await portCheck(serverConfig(0)).run()).toMatchObject({ status: "ok" });
  });

  test("configured addresses that can be sent from are fine", async () => {
    const args = ["--lavalink.server.ratelimit.ipBlocks=127.0.0.1"];
    const { config } = loadConfig({ args, env: {}, cwd: "/", readFile: () => undefined });
    const result = await addressesCheck(config.routePlanner).run();
    expect(result).toEqual({ status: "ok", found: "can send from 127.0.0.1" });
  });

  test("configured addresses that the system does not let us send from fail, with advice", async () => {
    const args = ["--lavalink.server.ratelimit.ipBlocks=::2"];
    let output = "";
    const write = (text: string) => {
      output += text;
    };
    expect(await runDoctor(args, { cwd: "/nowhere", write, measureLateness })).toBe(1);
    expect(output).toMatch(/^fail {2}addresses {7}::2 cannot be sent from: binding ::2 failed \(E\w+\): ./m);
  });

  test("a machine without network is warned of, not failed", async () => {
    expect(await dnsCheck(noName).run()).toMatchObject({ status: "warn", advice: expect.any(String) });
    expect(await udpRouteCheck(noName).run()).toMatchObject({ status: "warn", advice: expect.any(String) });
  });

  test("the doctor finds a UDP route without sending anything", async () => {
    expect(await udpRouteCheck(async () => "127.0.0.1").run()).toMatchObject({ status: "ok" });
  });

  test("a datagram on loopback arrives", async () => {
    expect(await udpCheck.run()).toMatchObject({ status: "ok" });
  });

  test("the doctor's clock line distinguishes the 99th percentile from the latest tick", async () => {
    const ticks = (...late: number[]) => [...Array<number>(100 - late.length).fill(0.25), ...late];
    expect(await clockCheck(async () => ticks(80)).run()).toEqual({
      status: "ok",
      found: "99 of 100 ticks of 20 ms are at most 0.3 ms late, the latest 80.0 ms",
    });
    expect(await clockCheck(async () => ticks(30, 80)).run()).toMatchObject({
      status: "warn",
      found: expect.stringMatching(/at most 30\.\d ms late, the latest 80\.0 ms$/),
    });
  });

  test("prints one line per check and fails for a wrong configuration", async () => {
    let output = "";
    const write = (text: string) => {
      output += text;
    };
    const status = await runDoctor(["--tonearm.workers.count=many"], { cwd: "/nowhere", write, measureLateness });
    expect(status).toBe(1);
    expect(output).toMatch(/^fail {2}configuration .*mistake/m);
    for (const name of [
      "Node.js",
      "DNS",
      "UDP",
      "Opus",
      "encoder",
      "MP3",
      "FLAC",
      "Vorbis",
      "AAC",
      "encryption",
      "DAVE",
      "clock",
    ]) {
      expect(output, name).toMatch(new RegExp(`^(ok|warn) +${name} `, "m"));
    }
  });

  test("a line of the doctor has status, name, finding and advice", () => {
    expect(checkLine("port", { status: "fail", found: "taken", advice: "free it" })).toBe(
      "fail  port            taken: free it",
    );
  });

  test("a check that takes too long is given up", async () => {
    await expect(within(new Promise(() => undefined), 1, "no answer")).rejects.toThrow("no answer");
    await expect(within(Promise.resolve(3), 1000, "no answer")).resolves.toBe(3);
  });
});
