import { expect, test } from "vitest";
import { ownHosts } from "../../../src/cluster/own-hosts.ts";

const INTERFACES = {
  lo: [
    { address: "127.0.0.1", internal: true },
    { address: "::1", internal: true },
  ],
  eth0: [
    { address: "203.0.113.5", internal: false },
    { address: "fe80::1", internal: false },
    { address: "2001:db8::5", internal: false },
  ],
  eth1: [
    { address: "10.0.0.5", internal: false },
    { address: "169.254.1.1", internal: false },
  ],
  none: undefined,
};

test("the address that the NATS server sees is used alone, if it is one of the machine", () => {
  expect(ownHosts(INTERFACES, "10.0.0.5")).toEqual(["10.0.0.5"]);
});

test("behind an address translation, and without a word of the server, all addresses of networks are used", () => {
  const all = ["203.0.113.5", "2001:db8::5", "10.0.0.5"];
  expect(ownHosts(INTERFACES, "198.51.100.7")).toEqual(all);
  expect(ownHosts(INTERFACES, undefined)).toEqual(all);
});

test("with a NATS server on the same host, the address that leads to it comes first", () => {
  expect(ownHosts(INTERFACES, "127.0.0.1")).toEqual(["127.0.0.1", "203.0.113.5", "2001:db8::5", "10.0.0.5"]);
  expect(ownHosts({ lo: INTERFACES.lo }, "::1")).toEqual(["::1"]);
});

test("there are four at most, and none where the machine has none", () => {
  const eth0 = Array.from({ length: 9 }, (_, index) => ({ address: `10.0.0.${index}`, internal: false }));
  expect(ownHosts({ eth0 }, undefined)).toHaveLength(4);
  expect(ownHosts({ lo: INTERFACES.lo }, undefined)).toEqual([]);
});
