import type { LookupAddress } from "node:dns";
import { afterEach, describe, expect, it } from "vitest";
import { createHostResolver, type HostResolverOptions } from "../../../src/network/host-resolver.ts";
import { OutboundGuard, type ResolveHost } from "../../../src/network/outbound-guard.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDnsServer, type Zone } from "../../support/fake-dns-server.ts";

const ZONE: Zone = {
  "radio.example": ["1.1.1.1", "2606:4700::1"],
  "v4.example": ["1.1.1.1"],
  "chain.example": { alias: "middle.example" },
  "middle.example": { alias: "private.example" },
  "private.example": ["10.0.0.1", "fd00::1"],
  "mixed.example": ["127.0.0.1", "1.1.1.1", "::1"],
  "silent.example": undefined,
};
const SYSTEM_ANSWER: LookupAddress[] = [{ address: "9.9.9.9", family: 4 }];

const servers: FakeDnsServer[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function start({ askSystem = () => undefined }: Pick<HostResolverOptions, "askSystem"> = {}) {
  const dns = await FakeDnsServer.start(ZONE);
  servers.push(dns);
  const clock = new FakeClock();
  const resolve = createHostResolver({ clock, askSystem, servers: [dns.address] });
  return { dns, clock, resolve };
}

/** The addresses, or the error's code. */
function ask(resolve: ResolveHost, name: string, options = {}): Promise<string | string[]> {
  return new Promise((settle) => {
    resolve(name, { ...options, all: true }, (error, addresses) =>
      settle(error === null ? addresses.map(({ address }) => address) : String(error.code)),
    );
  });
}

describe("the system's answer", () => {
  it("the system's answer is used, and DNS is not asked", async () => {
    const { dns, clock, resolve } = await start({
      askSystem: (_name, _options, answer) => answer(null, SYSTEM_ANSWER),
    });
    expect(await ask(resolve, "radio.example")).toEqual(["9.9.9.9"]);
    clock.advance(20_000);
    expect(clock.pendingCount).toBe(0);
    expect(dns.questions).toEqual([]);
  });

  it("the system's answer that there is no such name is used as well", async () => {
    const failure = Object.assign(new Error("no"), { code: "ENOTFOUND" });
    const { resolve } = await start({ askSystem: (_name, _options, answer) => answer(failure, []) });
    expect(await ask(resolve, "radio.example")).toBe("ENOTFOUND");
  });

  it("the system's answer is still awaited when DNS has no such name, as for names of the hosts file", async () => {
    let answerLate: () => void = () => undefined;
    const { dns, clock, resolve } = await start({
      askSystem: (_name, _options, answer) => {
        answerLate = () => answer(null, SYSTEM_ANSWER);
      },
    });
    const asked = ask(resolve, "in-hosts-file");
    clock.advance(500);
    await until(() => dns.questions.length === 2);
    clock.advance(9_000);
    answerLate();
    expect(await asked).toEqual(["9.9.9.9"]);
  });
});

describe("while the system does not answer", () => {
  it("DNS is asked after half a second without the system's answer", async () => {
    const { dns, clock, resolve } = await start();
    const asked = ask(resolve, "radio.example");
    clock.advance(499);
    expect(dns.questions).toEqual([]);
    clock.advance(1);
    expect(await asked).toEqual(["1.1.1.1", "2606:4700::1"]);
    expect(clock.pendingCount).toBe(0);
  });

  it("DNS is asked for the requested family only", async () => {
    const { dns, clock, resolve } = await start();
    const asked = [ask(resolve, "radio.example", { family: 6 }), ask(resolve, "v4.example", { family: 6 })];
    clock.advance(500);
    expect(await asked[0]).toEqual(["2606:4700::1"]);
    expect(dns.questions).toContain("radio.example 28");
    expect(dns.questions).not.toContain("radio.example 1");
    clock.advance(10_000);
    expect(await asked[1]).toBe("EAI_AGAIN");
  });

  it("a name without any answer fails after ten seconds", async () => {
    const { clock, resolve } = await start();
    const asked = ask(resolve, "silent.example");
    clock.advance(9_999);
    expect(await Promise.race([asked, Promise.resolve("waiting")])).toBe("waiting");
    clock.advance(1);
    expect(await asked).toBe("EAI_AGAIN");
    expect(clock.pendingCount).toBe(0);
  });

  it("the system is asked for at most sixteen names at once, and DNS for the others at once", async () => {
    let systemCount = 0;
    const { clock, resolve } = await start({
      askSystem: () => {
        systemCount++;
      },
    });
    const stuck = Array.from({ length: 16 }, () => ask(resolve, "silent.example"));
    const next = ask(resolve, "radio.example");
    const unknown = ask(resolve, "unknown.example");
    clock.advance(0);
    expect(await next).toEqual(["1.1.1.1", "2606:4700::1"]);
    expect(await unknown).toBe("ENOTFOUND");
    expect(systemCount).toBe(16);
    clock.advance(10_000);
    expect(new Set(await Promise.all(stuck))).toEqual(new Set(["EAI_AGAIN"]));
  });
});

describe("the guard with real DNS answers", () => {
  async function connectable(names: readonly string[]): Promise<unknown[]> {
    const { clock, resolve } = await start();
    const { lookup } = new OutboundGuard([], { resolve });
    const answers = names.map(
      (name) =>
        new Promise((settle) => {
          lookup(name, { all: true }, (error, addresses) => settle(error === null ? addresses : error.code));
        }),
    );
    clock.advance(500);
    return Promise.all(answers);
  }

  it("an alias of an alias of a private address is refused, and of mixed answers the public one is used", async () => {
    expect(await connectable(["chain.example", "private.example", "mixed.example"])).toEqual([
      "address-refused",
      "address-refused",
      [{ address: "1.1.1.1", family: 4 }],
    ]);
  });

  it("a changing answer is checked for each connection", async () => {
    const { dns, clock, resolve } = await start();
    const { lookup } = new OutboundGuard([], { resolve });
    const connect = () => {
      const answer = new Promise((settle) => {
        lookup("rebind.example", { all: true }, (error, addresses) => settle(error === null ? addresses : error.code));
      });
      clock.advance(500);
      return answer;
    };
    dns.zone = { "rebind.example": ["1.1.1.1"] };
    expect(await connect()).toEqual([{ address: "1.1.1.1", family: 4 }]);
    dns.zone = { "rebind.example": ["127.0.0.1"] };
    expect(await connect()).toBe("address-refused");
  });
});

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}
