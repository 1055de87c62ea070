import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { equalMachines, type Machine, Machines } from "../../../lab/cluster/machines.ts";
import { NatsServers } from "../../../lab/cluster/nats-servers.ts";
import { RESTART_PASSWORD } from "../../../lab/restart/node-runs.ts";
import { requestNode } from "../../../lab/test-environment/rest-request.ts";
import { isNatsMissing, natsTitle } from "../../support/nats-server.ts";

const PLUGIN = fileURLToPath(new URL("../../support/tokens-plugin.mjs", import.meta.url));

interface Loaded {
  readonly data: { readonly info: { readonly title: string } };
}

let nats: NatsServers;
let machines: Machines;
let questionCount = 0;

describe.skipIf(isNatsMissing)(natsTitle("two machines with one NATS server"), () => {
  beforeAll(async () => {
    nats = await NatsServers.start();
    machines = await Machines.start({
      plans: equalMachines(2, nats.urls),
      settings: [`tonearm.plugins: [{ path: ${JSON.stringify(PLUGIN)}, required: true }]`],
    });
  });

  afterAll(async () => {
    await machines?.close();
    await nats?.close();
  });

  async function ask(machine: Machine | undefined, what: "use" | "show" | "refuse"): Promise<string> {
    const path = `/v4/loadtracks?identifier=tokens:${what}:${++questionCount}`;
    const access = { url: machine?.url ?? "", password: RESTART_PASSWORD };
    const { body } = await requestNode<Loaded>(access, { method: "GET", path });
    return body.data.info.title;
  }

  test("a token that one fetches serves the other, and goes for both when the site refuses it to one", async () => {
    const [a, b] = machines.all;
    const token = await ask(a, "use");
    expect(token).toBe(`${a?.runs.pid} 1`);
    await expect.poll(() => ask(b, "show"), { timeout: 10_000 }).toBe(token);
    expect(await ask(b, "use")).toBe(token);

    expect(await ask(b, "refuse")).toBe("none");
    await expect.poll(() => ask(a, "show"), { timeout: 10_000 }).toBe("none");
    const next = await ask(b, "use");
    expect(next).toBe(`${b?.runs.pid} 1`);
    await expect.poll(() => ask(a, "show"), { timeout: 10_000 }).toBe(next);

    await nats.close();
    expect([await ask(a, "use"), await ask(b, "use")]).toEqual([next, next]);
  });
});
