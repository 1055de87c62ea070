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

  it("the system is asked for at most sixteen names at once, and DNS for all of them after half a second", async () => {
    const system: string[] = [];
    const { clock, resolve } = await start({ askSystem: (name) => void system.push(name) });
    const stuck = Array.from({ length: 16 }, (_, index) => ask(resolve, `silent${index}.example`));
    const next = ask(resolve, "radio.example");
    const unknown = ask(resolve, "unknown.example");
    clock.advance(500);
    expect(await next).toEqual(["1.1.1.1", "2606:4700::1"]);
    expect(system).toHaveLength(16);
    clock.advance(1_500);
    expect(await unknown).toBe("ENOTFOUND");
    clock.advance(8_000);
    expect(new Set(await Promise.all(stuck))).toEqual(new Set(["EAI_AGAIN"]));
    expect(clock.pendingCount).toBe(0);
  });

  it("a name that DNS does not know waits for the system to be asked for two seconds", async () => {
    const answers: (() => void)[] = [];
    const { dns, clock, resolve } = await start({
      askSystem: (_name, _options, answer) => void answers.push(() => answer(null, SYSTEM_ANSWER)),
    });
    const before = Array.from({ length: 16 }, (_, index) => ask(resolve, `silent${index}.example`));
    const asked = ask(resolve, "in-hosts-file");
    clock.advance(500);
    await until(() => dns.questions.includes("in-hosts-file 28"));
    clock.advance(1_499);
    answers[0]?.();
    await until(() => answers.length === 17);
    clock.advance(5_000);
    answers[16]?.();
    expect(await asked).toEqual(["9.9.9.9"]);
    clock.advance(10_000);
    await Promise.all(before);
  });

  it("a name that is queued for the system and that DNS does not answer for fails after ten seconds", async () => {
    const { dns, clock, resolve } = await start();
    const stuck = Array.from({ length: 16 }, (_, index) => ask(resolve, `silent${index}.example`));
    const asked = ask(resolve, "silent.example");
    clock.advance(500);
    await until(() => dns.questions.includes("silent.example 1"));
    clock.advance(9_499);
    expect(await Promise.race([asked, Promise.resolve("waiting")])).toBe("waiting");
    clock.advance(1);
    expect(await asked).toBe("EAI_AGAIN");
    await Promise.all(stuck);
  });
});

describe("bursts of questions", () => {
  /** A system resolver that answers when it is told to. */
  function scriptedSystem() {
    const asked: { readonly name: string; readonly answer: (addresses: LookupAddress[]) => void }[] = [];
    const askSystem: ResolveHost = (name, _options, callback) => {
      asked.push({ name, answer: (addresses) => callback(null, addresses) });
    };
    return { asked, askSystem };
  }

  it("four hundred questions for one name are one question, whose answer all get", async () => {
    const { asked, askSystem } = scriptedSystem();
    const { resolve, dns } = await start({ askSystem });
    const burst = Array.from({ length: 400 }, (_, index) => ask(resolve, index % 2 === 0 ? "localhost" : "LocalHost"));
    asked[0]?.answer(SYSTEM_ANSWER);
    expect(await Promise.all(burst)).toEqual(burst.map(() => ["9.9.9.9"]));
    expect([asked.length, dns.questions]).toEqual([1, []]);
    const later = ask(resolve, "localhost");
    asked[1]?.answer(SYSTEM_ANSWER);
    expect(await later).toEqual(["9.9.9.9"]);
  });

  it("DNS is asked once for all who wait as well", async () => {
    const { clock, resolve, dns } = await start();
    const burst = Array.from({ length: 50 }, () => ask(resolve, "radio.example"));
    clock.advance(500);
    await Promise.all(burst);
    expect(dns.questions).toHaveLength(2);
  });

  it("a failure is shared as well, and the next question is a new one", async () => {
    let count = 0;
    const failure = Object.assign(new Error("no"), { code: "ENOTFOUND" });
    const { resolve } = await start({
      askSystem: (_name, _options, answer) => (++count === 1 ? answer(failure, []) : answer(null, SYSTEM_ANSWER)),
    });
    const burst = [ask(resolve, "radio.example"), ask(resolve, "radio.example")];
    expect(await Promise.all(burst)).toEqual(["ENOTFOUND", "ENOTFOUND"]);
    expect(await ask(resolve, "radio.example")).toEqual(["9.9.9.9"]);
  });

  it("questions for other families are other questions", async () => {
    const { asked, askSystem } = scriptedSystem();
    const { resolve } = await start({ askSystem });
    const burst = [0, 4, 6].map((family) => ask(resolve, "localhost", { family }));
    for (const { answer } of asked) answer(SYSTEM_ANSWER);
    await Promise.all(burst);
    expect(asked).toHaveLength(3);
  });

  it("names that only the system knows are found beyond sixteen at once, in the order of their questions", async () => {
    const { asked, askSystem } = scriptedSystem();
    const { clock, resolve } = await start({ askSystem });
    const burst = Array.from({ length: 40 }, (_, index) => ask(resolve, `docker${index}`));
    clock.advance(500);
    for (let index = 0; index < 40; index++) {
      await until(() => asked.length > index);
      expect(asked[index]?.name).toBe(`docker${index}`);
      asked[index]?.answer([{ address: `172.17.0.${index}`, family: 4 }]);
    }
    expect(await Promise.all(burst)).toEqual(burst.map((_, index) => [`172.17.0.${index}`]));
  });

  it("a question that was given up leaves the queue, and the system's answer to it serves the next one", async () => {
    const { asked, askSystem } = scriptedSystem();
    const { clock, resolve } = await start({ askSystem });
    const stuck = Array.from({ length: 17 }, (_, index) => ask(resolve, `silent${index}.example`));
    clock.advance(10_000);
    await Promise.all(stuck);
    const again = ask(resolve, "silent0.example");
    asked[0]?.answer(SYSTEM_ANSWER);
    expect(await again).toEqual(["9.9.9.9"]);
    expect(asked).toHaveLength(16);
  });

  it("more than four thousand names at once are refused", async () => {
    const { clock, resolve } = await start();
    const names = Array.from({ length: 4_096 }, (_, index) => ask(resolve, `silent${index}.example`));
    expect(await ask(resolve, "one-more.example")).toBe("EAI_AGAIN");
    clock.advance(10_000);
    await Promise.all(names);
  });

  it("the real localhost is found by four hundred at once, and the guard judges its addresses for each", async () => {
    const resolve = createHostResolver();
    const found = await Promise.all(Array.from({ length: 400 }, () => ask(resolve, "localhost")));
    for (const addresses of found) expect(addresses).toContain("127.0.0.1");
    const [strict, open] = [new OutboundGuard([], { resolve }), new OutboundGuard(["127.0.0.0/8", "::1"], { resolve })];
    const codes = [strict, open, strict].map(
      ({ lookup }) => new Promise((settle) => lookup("localhost", { all: true }, (error) => settle(error?.code))),
    );
    expect(await Promise.all(codes)).toEqual(["address-refused", undefined, "address-refused"]);
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

describe("names of one site whose DNS servers are silent", () => {
  it("the names of a flooding site leave room in the system's resolver, and the next site does not wait behind them", async () => {
    const asked = new Map<string, () => void>();
    const { clock, resolve } = await start({
      askSystem: (name, _options, answer) => asked.set(name, () => answer(null, SYSTEM_ANSWER)),
    });
    const flood = Array.from({ length: 100 }, (_, index) => ask(resolve, `n${index}.flood.example`));
    expect(asked.size).toBe(12);
    const honest = Array.from({ length: 6 }, (_, index) => ask(resolve, `honest-${index}.test`));
    expect(asked.size).toBe(16);
    asked.get("n0.flood.example")?.();
    await flood[0];
    await Promise.resolve();
    expect([...asked.keys()].at(-1)).toBe("honest-4.test");
    clock.advance(10_000);
    await Promise.all([...flood, ...honest]);
    expect(clock.pendingCount).toBe(0);
  });

  it("a flooding site's own last name is refused when too many names are asked for", async () => {
    const { clock, resolve } = await start();
    const flood = Array.from({ length: 4096 }, (_, index) => ask(resolve, `n${index}.flood.example`));
    expect(await ask(resolve, "n4096.flood.example")).toBe("EAI_AGAIN");
    let honest: string | string[] | undefined;
    const settled = ask(resolve, "honest.test").then((answer) => {
      honest = answer;
    });
    expect(await flood.at(-1)).toBe("EAI_AGAIN");
    expect(honest).toBeUndefined();
    clock.advance(10_000);
    await Promise.all([...flood, settled]);
    expect(clock.pendingCount).toBe(0);
  });
});
