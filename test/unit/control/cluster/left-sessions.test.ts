import { beforeEach, describe, expect, test } from "vitest";
import { CONTRACT_VERSION, type Machine } from "../../../../src/cluster/machine.ts";
import { MACHINE_ROLES } from "../../../../src/config/cluster-settings.ts";
import { LeftSessions } from "../../../../src/control/cluster/left-sessions.ts";
import { chosenFor } from "../../../../src/control/cluster/rendezvous.ts";

const IDS = Array.from({ length: 2500 }, (_, index) => `session${index}`);

let peers: Machine[];
let aliveIds: string[];
let machines: Map<string, ReadonlySet<string>>;
let here: Set<string>;
let draining: Set<string>;
let left: LeftSessions;

beforeEach(() => {
  peers = ["a", "b"].map(machineOf);
  aliveIds = ["a", "b"];
  machines = new Map();
  here = new Set();
  draining = new Set();
  left = new LeftSessions({
    membership: {
      get self() {
        return peers[0];
      },
      peers: () => peers,
      loadOf: (id) => ({ players: 0, load: 0, loadPerPlayer: 0, hasCapacity: true, isDraining: draining.has(id) }),
      isAlive: (id) => aliveIds.includes(id),
      isCaughtUp: true,
      isNatsAway: false,
    },
    directory: { machines, isComplete: true },
    isLeftHere: (id) => !here.has(id),
  });
});

function machineOf(id: string): Machine {
  return { id, name: id, roles: MACHINE_ROLES, regions: [], version: "1", contract: CONTRACT_VERSION };
}

describe("sessions that are left", () => {
  test("are no machine's that drains, as long as there is another", () => {
    machines.set("dead", new Set(IDS.slice(0, 50)));
    draining.add("b");
    expect(left.find().ids).toHaveLength(50);
    draining = new Set(["a"]);
    expect(left.find().ids).toEqual([]);
    draining = new Set(["a", "b"]);
    expect(left.find().ids.length).toBeGreaterThan(0);
  });

  test("of machines that live are theirs", () => {
    machines.set("b", new Set(IDS));
    expect(left.find()).toEqual({ ids: [], isAll: true });
  });

  test("of dead machines are found in parts, each machine its own", () => {
    machines.set("dead", new Set(IDS));
    const mine = IDS.filter((id) => chosenFor(id, ["a", "b"]) === "a");
    expect([left.find().isAll, left.find().isAll]).toEqual([false, false]);
    expect(left.find()).toEqual({ ids: mine, isAll: true });
  });

  test("are chosen for again when a machine has gone", () => {
    machines.set("dead", new Set(IDS.slice(0, 100)));
    expect(left.find().ids.length).toBeLessThan(100);
    peers = peers.slice(0, 1);
    expect(left.find().ids).toHaveLength(100);
  });

  test("are the gateways' turns only", () => {
    machines.set("dead", new Set(IDS.slice(0, 100)));
    peers = [machineOf("a"), { ...machineOf("b"), roles: ["audio"] }];
    expect(left.find().ids).toHaveLength(100);
    peers = [{ ...machineOf("a"), roles: ["audio"] }, machineOf("b")];
    expect(left.find()).toEqual({ ids: [], isAll: true });
  });

  test("are those of this machine that are not here", () => {
    machines.set("a", new Set(["one", "two"]));
    here.add("one");
    expect(left.find().ids).toEqual(["two"]);
  });
});
