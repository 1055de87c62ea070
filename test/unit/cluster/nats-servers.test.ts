import { expect, test } from "vitest";
import { addressOf, NatsServers } from "../../../src/cluster/nats-servers.ts";

const CONFIGURED = [{ host: "nats.example", port: 4222 }];
const inOrder = { hasTls: false, shuffled: <T>(list: readonly T[]) => [...list] };

function known(servers: NatsServers): readonly string[] {
  return servers.known.map(addressOf);
}

test("servers that one tells of are known and tried", () => {
  const servers = new NatsServers(CONFIGURED);
  servers.learn(["10.0.0.1:4222", "[fd00::1]:4223", "nats.example:4222"]);
  expect(known(servers)).toEqual(["nats.example:4222", "10.0.0.1:4222", "[fd00::1]:4223"]);
  expect(servers.toTry(inOrder)).toEqual(known(servers));
});

test("a server that is no longer told of, because it is down, still counts", () => {
  const servers = new NatsServers(CONFIGURED);
  servers.learn(["10.0.0.1:1", "10.0.0.2:2", "10.0.0.3:3"]);
  servers.learn(["10.0.0.1:1"]);
  expect(known(servers)).toHaveLength(4);
});

test("a server that was replaced by another is forgotten once all are there again", () => {
  const servers = new NatsServers([]);
  servers.learn(["10.0.0.1:1", "10.0.0.2:2", "10.0.0.3:3"]);
  servers.learn(["10.0.0.1:1", "10.0.0.2:2"]);
  servers.learn(["10.0.0.1:1", "10.0.0.2:2", "10.0.0.4:4"]);
  expect(known(servers)).toEqual(["10.0.0.1:1", "10.0.0.2:2", "10.0.0.4:4"]);
});

test("the server whose connection was lost is tried last", () => {
  const servers = new NatsServers([1, 2, 3].map((port) => ({ host: "10.0.0.1", port })));
  servers.onLost("10.0.0.1:1");
  expect(servers.toTry(inOrder)).toEqual(["10.0.0.1:2", "10.0.0.1:3", "10.0.0.1:1"]);
});

test("with TLS only servers with a name are tried, beside the configured ones", () => {
  const servers = new NatsServers([{ host: "10.0.0.9", port: 9 }]);
  servers.learn(["10.0.0.1:1", "[fd00::1]:1", "two.example:2"]);
  expect(servers.toTry({ ...inOrder, hasTls: true })).toEqual(["10.0.0.9:9", "two.example:2"]);
});

test("what is no address, and more than 64 of them, is not remembered", () => {
  const servers = new NatsServers([]);
  servers.learn(["", "host", ":1", "host:0", "host:65536", "host:x"]);
  expect(known(servers)).toEqual([]);
  servers.learn(Array.from({ length: 100 }, (_none, index) => `10.0.0.${index}:1`));
  expect(known(servers)).toHaveLength(64);
});
