import type { LookupAddress } from "node:dns";
import { createServer, connect as netConnect } from "node:net";
import type { NetworkInterfaceInfo } from "node:os";
import { describe, expect, it } from "vitest";
import { NodeError } from "../../../src/errors.ts";
import { OutboundGuard, type ResolveHost } from "../../../src/network/outbound-guard.ts";
import { OwnNetwork } from "../../../src/network/own-network.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const REFUSED = {
  "private 10/8": ["10.0.0.0", "10.255.255.255"],
  "private 172.16/12": ["172.16.0.1", "172.31.255.255"],
  "private 192.168/16": ["192.168.0.1", "192.168.255.255"],
  loopback: ["127.0.0.1", "127.255.255.254", "::1"],
  "link-local, cloud metadata": ["169.254.0.1", "169.254.169.254", "fe80::1", "fe80::1%eth0", "febf::1"],
  "carrier-grade NAT": ["100.64.0.0", "100.100.100.200", "100.127.255.255"],
  unspecified: ["0.0.0.0", "0.1.2.3", "::"],
  multicast: ["224.0.0.1", "239.255.255.250", "ff02::1", "ff0e::1"],
  broadcast: ["255.255.255.255"],
  "documentation, benchmarks, reserved": [
    ...["192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "198.19.255.255", "192.0.0.192", "240.0.0.1"],
    ...["192.88.99.1", "2001:db8::1", "3fff::1", "2001:2::1", "100::1", "5f00::1", "4000::1"],
  ],
  "unique local and site local": ["fc00::1", "fdff::1", "fd00:ec2::254", "fec0::1"],
  "IPv4-mapped": ["::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.1.2.3", "0:0:0:0:0:ffff:a9fe:a9fe"],
  "IPv4-compatible": ["::127.0.0.1", "::10.0.0.1", "::8.8.8.8"],
  "IPv4-translated": ["::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8"],
  "NAT64 to private": ["64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b::169.254.169.254", "64:ff9b:1::8.8.8.8"],
  "6to4 of private": ["2002:7f00:1::", "2002:a00:1::1", "2002:c0a8:101::1"],
  "ISATAP of private": ["2606:4700::5efe:10.0.0.1", "2a00:1450:1:2:200:5efe:7f00:1"],
  Teredo: ["2001:0:7f00:1::1", "2001::1"],
  "Azure wire server": ["168.63.129.16", "::ffff:168.63.129.16"],
  "no address at all": ["", "example.com", "127.0.0.1:80", "1.2.3.4.5", "[::1]"],
};

const PASSED = [
  ...["1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255"],
  ...["128.0.0.0", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0"],
  ...["223.255.255.255", "2606:4700::1111", "2a00:1450::1", "64:ff9b::8.8.8.8", "2002:808:808::1", "::ffff:8.8.8.8"],
  "2606:4700::5efe:8.8.8.8",
];

/** Hosts as they stand in a URL, before the URL parser has tidied them up. */
const HOSTILE_HOSTS = [
  ...["127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001"],
  ...["0", "0.0.0.0", "127.0.0.1.", "1０.0.0.1", "①②⑦.0.0.1", "0xA9FEA9FE", "169.254.43518", "3232235777"],
  ...["[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[fe80::1]"],
  ...["[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::127.0.0.1]", "%31%32%37.0.0.1"],
];

function fixedAnswer(...addresses: string[]): ResolveHost {
  const answer = addresses.map((address): LookupAddress => ({ address, family: address.includes(":") ? 6 : 4 }));
  return (_hostname, _options, callback) => callback(null, answer);
}

function interfaceWith(address: string, cidr: string): NetworkInterfaceInfo {
  const rest = { address, cidr, netmask: "", mac: "", internal: false };
  return address.includes(":") ? { ...rest, family: "IPv6", scopeid: 0 } : { ...rest, family: "IPv4" };
}

function codeOf(action: () => unknown): string {
  try {
    action();
    return "passed";
  } catch (error) {
    if (error instanceof NodeError) return error.code;
    throw error;
  }
}

describe("addresses", () => {
  const guard = new OutboundGuard([]);
  for (const [kind, addresses] of Object.entries(REFUSED)) {
    it.each(addresses)(`${kind} is refused: %s`, (address) => {
      expect(codeOf(() => guard.check(address))).toBe("address-refused");
    });
  }

  it.each(PASSED)("public %s is allowed", (address) => {
    expect(codeOf(() => guard.check(address))).toBe("passed");
  });

  it("the refusal names the host as the client did, and the setting", () => {
    expect(() => guard.check("10.0.0.1", "evil.example")).toThrow(
      /^connecting to evil\.example refused: not a public address; .*tonearm\.network\.allow$/,
    );
  });
});

describe("hosts of URLs", () => {
  const guard = new OutboundGuard([]);

  it.each(HOSTILE_HOSTS)("the host %s is refused, raw and after URL normalisation", (host) => {
    const normalised = new URL(`http://${host}/`).hostname;
    expect(codeOf(() => guard.checkHost(normalised))).toBe("address-refused");
    if (/^[\x21-\x7e]+$/.test(host) && !host.includes("%")) {
      expect(codeOf(() => guard.checkHost(host))).toBe("address-refused");
    }
  });

  it.each(["example.com", "localhost", "1.1.1.1", "[2606:4700::1111]", "dead.beef", "127.0.0.1.nip.io"])(
    "the host %s is allowed before resolving",
    (host) => expect(codeOf(() => guard.checkHost(host))).toBe("passed"),
  );
});

describe("the allow list", () => {
  it("the allow list opens exactly its blocks", () => {
    const guard = new OutboundGuard(["127.0.0.0/8", " 10.1.0.0/16", "fd00::/8", "192.168.1.7", "::1"]);
    for (const ip of ["127.0.0.1", "::ffff:127.0.0.1", "10.1.255.255", "fd12::1", "192.168.1.7", "::1"]) {
      expect(codeOf(() => guard.check(ip))).toBe("passed");
    }
    for (const ip of ["10.2.0.0", "10.0.255.255", "fc00::1", "192.168.1.8", "::2", "64:ff9b::127.0.0.1"]) {
      expect(codeOf(() => guard.check(ip))).toBe("address-refused");
    }
  });

  it("the allow list accepts IPv4 blocks that are written as IPv6", () => {
    const guard = new OutboundGuard(["::ffff:10.1.0.0/112", "::ffff:192.168.1.7"]);
    for (const ip of ["10.1.2.3", "::ffff:a01:1", "192.168.1.7"]) expect(codeOf(() => guard.check(ip))).toBe("passed");
    for (const ip of ["10.2.0.0", "192.168.1.8"]) expect(codeOf(() => guard.check(ip))).toBe("address-refused");
  });

  it.each(["", "nonsense", "10.0.0.0/33", "300.0.0.1", "0x7f000001", "::/129"])(
    "the allow list entry %j is rejected",
    (entry) => {
      expect(codeOf(() => new OutboundGuard([entry]))).toBe("network-allow-invalid");
    },
  );
});

describe("the machine's own public addresses", () => {
  const ownNetwork = new OwnNetwork({
    blocks: ["45.7.0.0/16", "2a00:1450:42::/48", "46.0.0.1"],
    readInterfaces: () => ({
      eth0: [interfaceWith("45.0.0.7", "45.0.0.7/20"), interfaceWith("2a00:1450:1:2::7", "2a00:1450:1:2::7/64")],
      wide: [interfaceWith("2a00:1450:9::1", "2a00:1450:9::1/48")],
    }),
  });

  it("the machine's public addresses and its IPv6 link are refused, other addresses are not", () => {
    const guard = new OutboundGuard([], { ownNetwork });
    for (const ip of [
      "45.0.0.7",
      "::ffff:45.0.0.7",
      "2a00:1450:1:2::7",
      "2a00:1450:1:2:ffff::1",
      "2a00:1450:9::beef",
    ]) {
      expect(
        codeOf(() => guard.check(ip)),
        ip,
      ).toBe("address-refused");
    }
    for (const ip of ["45.0.0.8", "45.0.1.1", "2a00:1450:1:3::7", "2a00:1450:9:1::1"]) {
      expect(
        codeOf(() => guard.check(ip)),
        ip,
      ).toBe("passed");
    }
    expect(() => guard.check("45.0.0.7")).toThrow(/this machine or its network; .*tonearm\.network\.allow$/);
  });

  it("the public addresses of routed blocks are refused as well", () => {
    const guard = new OutboundGuard([], { ownNetwork });
    for (const ip of ["45.7.255.1", "2a00:1450:42:ffff::1", "46.0.0.1"]) {
      expect(
        codeOf(() => guard.check(ip)),
        ip,
      ).toBe("address-refused");
    }
    for (const ip of ["45.8.0.0", "2a00:1450:43::1", "46.0.0.2"]) expect(codeOf(() => guard.check(ip))).toBe("passed");
  });

  it("the machine's addresses are reread after ten seconds, and may be hidden by the system", () => {
    const clock = new FakeClock();
    let address = "47.0.0.1";
    const readInterfaces = () => ({ eth0: [interfaceWith(address, `${address}/24`)] });
    const guard = new OutboundGuard([], { ownNetwork: new OwnNetwork({ clock, readInterfaces }) });
    expect(codeOf(() => guard.check("47.0.0.1"))).toBe("address-refused");
    address = "47.0.0.2";
    clock.advance(9_999);
    expect(codeOf(() => guard.check("47.0.0.2"))).toBe("passed");
    clock.advance(1);
    expect(codeOf(() => guard.check("47.0.0.2"))).toBe("address-refused");
    expect(codeOf(() => guard.check("47.0.0.1"))).toBe("passed");
    const hidden = new OwnNetwork({
      readInterfaces: () => {
        throw new Error("EACCES");
      },
    });
    expect(codeOf(() => new OutboundGuard([], { ownNetwork: hidden }).check("47.0.0.1"))).toBe("passed");
  });

  it("the allow list opens the machine's public addresses", () => {
    const guard = new OutboundGuard(["45.0.0.7"], { ownNetwork });
    expect(codeOf(() => guard.check("45.0.0.7"))).toBe("passed");
  });
});

describe("a host that a proxy connects to", () => {
  const decide = (allow: string[], ...addresses: string[]) =>
    new OutboundGuard(allow, { resolve: fixedAnswer(...addresses) }).checkEveryAddress("radio.example");

  it("a host behind a proxy is allowed only when none of its addresses is private", async () => {
    await expect(decide([], "1.1.1.1", "2606:4700::1")).resolves.toBeUndefined();
    await expect(decide([], "1.1.1.1", "10.0.0.1")).rejects.toMatchObject({ code: "address-refused" });
    await expect(decide(["10.0.0.0/8"], "1.1.1.1", "10.0.0.1")).resolves.toBeUndefined();
    await expect(new OutboundGuard([]).checkEveryAddress("127.1")).rejects.toMatchObject({ code: "address-refused" });
    await expect(new OutboundGuard([]).checkEveryAddress("[2606:4700::1]")).resolves.toBeUndefined();
  });

  it("a host behind a proxy fails when it does not resolve here, or to too many addresses", async () => {
    await expect(decide([])).rejects.toMatchObject({ code: "ENOTFOUND" });
    const many = Array.from({ length: 65 }, (_, index) => `1.1.1.${index}`);
    await expect(decide([], ...many)).rejects.toThrow("more than 64 addresses");
    await expect(decide([], ...many.slice(1))).resolves.toBeUndefined();
  });

  it("a host behind a proxy is not resolved if everything is allowed", async () => {
    const resolve: ResolveHost = () => expect.unreachable();
    const guard = new OutboundGuard(["0.0.0.0/0", "::/0"], { resolve });
    await expect(guard.checkEveryAddress("radio.example")).resolves.toBeUndefined();
  });
});

describe("lookup", () => {
  it("lookup leaves out forbidden addresses in every calling form", () => {
    const { lookup } = new OutboundGuard([], { resolve: fixedAnswer("10.0.0.1", "1.1.1.1", "::1", "2606:4700::1") });
    const seen: unknown[] = [];
    lookup("mixed.example", (...answer) => seen.push(answer));
    lookup("mixed.example", 4, (...answer) => seen.push(answer));
    lookup("mixed.example", {}, (...answer) => seen.push(answer));
    lookup("mixed.example", { all: true }, (...answer) => seen.push(answer));
    const all = [
      { address: "1.1.1.1", family: 4 },
      { address: "2606:4700::1", family: 6 },
    ];
    expect(seen).toEqual([
      [null, "1.1.1.1", 4],
      [null, "1.1.1.1", 4],
      [null, "1.1.1.1", 4],
      [null, all],
    ]);
  });

  it("lookup checks 64 addresses of a name and no more", () => {
    const privates = Array.from({ length: 64 }, (_, index) => `10.0.0.${index}`);
    const pick = (...addresses: string[]): unknown => {
      let answer: unknown;
      const { lookup } = new OutboundGuard([], { resolve: fixedAnswer(...addresses) });
      lookup("many.example", (error, address) => {
        answer = error ?? address;
      });
      return answer;
    };
    expect(pick(...privates.slice(1), "1.1.1.1")).toBe("1.1.1.1");
    expect(pick(...privates, "1.1.1.1")).toMatchObject({ code: "address-refused" });
    const publics = Array.from({ length: 5_000 }, (_, index) => `1.1.${index >> 8}.${index & 255}`);
    const { lookup } = new OutboundGuard([], { resolve: fixedAnswer(...publics) });
    lookup("many.example", { all: true }, (_error, addresses) => expect(addresses).toHaveLength(64));
    expect.assertions(3);
  });

  it("lookup fails with the refusal when no address is left", () => {
    const { lookup } = new OutboundGuard([], { resolve: fixedAnswer("127.0.0.1", "::1") });
    lookup("evil.example", { all: true }, (error) => {
      expect(error).toMatchObject({ code: "address-refused", message: expect.stringContaining("evil.example") });
    });
    expect.assertions(1);
  });

  it("lookup passes on the resolver's error", () => {
    const failure = Object.assign(new Error("no such host"), { code: "ENOTFOUND" });
    const guard = new OutboundGuard([], { resolve: (_host, _options, callback) => callback(failure, []) });
    guard.lookup("nowhere.example", {}, (error) => expect(error).toBe(failure));
    const silent = new OutboundGuard([], { resolve: fixedAnswer() });
    silent.lookup("nowhere.example", {}, (error) => expect(error).toMatchObject({ code: "ENOTFOUND" }));
    expect.assertions(2);
  });

  it("lookup resolves once, and the checked address is connected to", async () => {
    const server = createServer((socket) => socket.end("hello"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const port = (server.address() as { port: number }).port;
    let resolutions = 0;
    const rebinding: ResolveHost = (_host, _options, callback) => {
      resolutions++;
      callback(null, [{ address: resolutions === 1 ? "127.0.0.1" : "10.0.0.1", family: 4 }]);
    };
    const guard = new OutboundGuard(["127.0.0.0/8"], { resolve: rebinding });
    const socket = netConnect({ host: "rebind.example", port, lookup: guard.lookup });
    const text = await new Promise<string>((resolve, reject) => {
      socket.on("data", (data) => resolve(data.toString()));
      socket.on("error", reject);
    });
    expect(text).toBe("hello");
    expect(socket.remoteAddress).toBe("127.0.0.1");
    expect(resolutions).toBe(1);
    await new Promise((resolve) => server.close(resolve));
  });

  it("lookup stops a connection to a name that resolves to a private address", async () => {
    const guard = new OutboundGuard([], { resolve: fixedAnswer("127.0.0.1") });
    const socket = netConnect({ host: "evil.example", port: 9, lookup: guard.lookup });
    const error = await new Promise((resolve) => socket.on("error", resolve));
    expect(error).toMatchObject({ code: "address-refused" });
  });
});

describe("servers of the operator", () => {
  const ownServers = ["192.168.1.5:4533", "nas.local:8096", "fd00::7:443"];
  const guard = new OutboundGuard([], { ownServers, resolve: fixedAnswer("10.0.0.1", "1.1.1.1") });

  it.each([
    ["192.168.1.5", 4533],
    ["192.168.1.5", "4533"],
    ["nas.local", 8096],
    ["nas.local.", 8096],
    ["[fd00::7]", 443],
    ["fd00::7", 443],
  ])("an own server is recognised by host and port: %s %s", (host, port) => {
    expect(guard.isOwnServer(host, port)).toBe(true);
  });

  it.each([
    ["192.168.1.5", 4534],
    ["192.168.1.6", 4533],
    ["nas.local", 4533],
    ["nas.local", 80],
    ["other.nas.local", 8096],
    ["fd00::7", 8096],
    ["", 4533],
  ])("another server is not an own one: %s %s", (host, port) => {
    expect(guard.isOwnServer(host, port)).toBe(false);
    expect(new OutboundGuard([]).isOwnServer(host, port)).toBe(false);
  });

  it("own servers open no address for other connections", () => {
    expect(codeOf(() => guard.check("192.168.1.5"))).toBe("address-refused");
    expect(codeOf(() => guard.checkHost("192.168.1.5"))).toBe("address-refused");
    guard.lookup("nas.local", {}, (_error, address) => expect(address).toBe("1.1.1.1"));
    expect.assertions(3);
  });

  it("own servers are resolved without a check, in every calling form", () => {
    const seen: unknown[] = [];
    guard.lookupOwn("nas.local", (...answer) => seen.push(answer));
    guard.lookupOwn("nas.local", { all: true }, (...answer) => seen.push(answer));
    const all = [
      { address: "10.0.0.1", family: 4 },
      { address: "1.1.1.1", family: 4 },
    ];
    expect(seen).toEqual([
      [null, "10.0.0.1", 4],
      [null, all],
    ]);
  });

  it("a guard for one own server knows only that one, and checks all others", () => {
    const resolve = fixedAnswer("10.0.0.1");
    const one = new OutboundGuard(["10.1.0.0/16"], { ownServers, resolve }).withOwnServer("attic.local:80");
    expect([one.isOwnServer("attic.local", 80), one.isOwnServer("nas.local", 8096)]).toEqual([true, false]);
    expect(codeOf(() => one.check("10.1.2.3"))).toBe("passed");
    expect(codeOf(() => one.check("10.2.0.1"))).toBe("address-refused");
    one.lookup("any.example", {}, (error) => expect(error).toMatchObject({ code: "address-refused" }));
    expect([guard.hasOwnServers, guard.withoutOwnServers().hasOwnServers]).toEqual([true, false]);
    expect.assertions(5);
  });
});
