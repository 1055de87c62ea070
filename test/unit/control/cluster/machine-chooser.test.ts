import { beforeEach, describe, expect, test } from "vitest";
import { RENEW_MS } from "../../../../src/cluster/lease-times.ts";
import type { Machine, MachineLoad } from "../../../../src/cluster/machine.ts";
import type { MachineRole } from "../../../../src/config/cluster-settings.ts";
import { type Candidate, chosenMachine, MachineChooser } from "../../../../src/control/cluster/machine-chooser.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const IDLE: MachineLoad = { players: 0, load: 0, loadPerPlayer: 0.002, hasCapacity: true, isDraining: false };

interface Changes extends Partial<MachineLoad> {
  readonly regions?: readonly string[];
  readonly placed?: number;
}

function candidate(id: string, { regions = [], placed = 0, ...load }: Changes = {}): Candidate {
  return { id, regions, load: { ...IDLE, ...load }, placed };
}

/** As asked by machine `a`. */
function chosen(candidates: readonly Candidate[], region?: string): string | undefined {
  return chosenMachine(candidates, { selfId: "a", region })?.id;
}

describe("the machine for a player", () => {
  test("is none where there is none", () => {
    expect(chosen([])).toBeUndefined();
  });

  test("is this one up to 0.15 more load than the least, and the other beyond", () => {
    const other = candidate("b", { load: 0.25 });
    expect(chosen([candidate("a", { load: 0.4 }), other])).toBe("a");
    expect(chosen([candidate("a", { load: 0.41 }), other])).toBe("b");
    expect(chosen([candidate("a", { load: 0.3, placed: 60 }), other])).toBe("b");
  });

  test("is the one with the least load where this one only has clients", () => {
    expect(chosen([candidate("c", { load: 0.3 }), candidate("b", { load: 0.2 })])).toBe("b");
    expect(chosen([candidate("c", { load: 0.3 }), candidate("b", { load: 0.2, placed: 51 })])).toBe("c");
  });

  test("with equal loads is the one with fewer players, and with as many the first by id", () => {
    expect(chosen([candidate("b", { players: 5 }), candidate("c", { players: 4 })])).toBe("c");
    expect(chosen([candidate("c"), candidate("b")])).toBe("b");
  });

  test("is near the player's region if one there has capacity, however busy", () => {
    const near = candidate("b", { regions: ["fra", "rotterdam"], load: 0.6 });
    expect(chosen([candidate("a"), near], "rotterdam")).toBe("b");
    expect(chosen([candidate("a"), near], "us-east")).toBe("a");
    expect(chosen([candidate("a"), near])).toBe("a");
    expect(chosen([candidate("a"), { ...near, load: { ...near.load, hasCapacity: false } }], "rotterdam")).toBe("a");
    expect(chosen([candidate("a"), { ...near, placed: 100 }], "rotterdam")).toBe("a");
  });

  test("is this one among those near the region, as among all", () => {
    const regions = ["fra"];
    expect(chosen([candidate("a", { regions, load: 0.2 }), candidate("b", { regions, load: 0.1 })], "fra")).toBe("a");
  });

  test("is one with capacity before this one without", () => {
    expect(chosen([candidate("a", { hasCapacity: false }), candidate("b", { load: 0.7 })])).toBe("b");
  });

  test("is the one with the least load where none has capacity", () => {
    const full = { hasCapacity: false, regions: ["fra"] };
    const candidates = [candidate("a", { ...full, load: 0.7 }), candidate("b", { hasCapacity: false, load: 0.66 })];
    expect(chosen(candidates, "fra")).toBe("b");
  });
});

describe("a gateway that places players", () => {
  let clock: FakeClock;
  let machines: Machine[];
  let loads: Map<string, MachineLoad>;
  let chooser: MachineChooser;

  beforeEach(() => {
    clock = new FakeClock();
    machines = [];
    loads = new Map();
    const membership = {
      get self() {
        return machines[0];
      },
      peers: () => machines,
      loadOf: (id: string) => loads.get(id),
    };
    chooser = new MachineChooser({ membership, clock });
  });

  function add(id: string, roles: readonly MachineRole[], load: Partial<MachineLoad> = {}): void {
    machines.push({ id, name: id, roles, regions: [], version: "1", contract: 2 });
    loads.set(id, { ...IDLE, ...load });
  }

  /** How many players each machine gets. */
  function place(count: number): Record<string, number> {
    const counts: Record<string, number> = {};
    for (let player = 0; player < count; player++) {
      const id = chooser.choose({ region: undefined }) ?? "none";
      counts[id] = (counts[id] ?? 0) + 1;
    }
    return counts;
  }

  test("spreads a burst by what each player is going to cost, before any machine has said so", () => {
    add("gateway", ["gateway"]);
    add("b", ["audio"]);
    add("c", ["audio"]);
    add("big", ["audio"], { loadPerPlayer: 0.001 });
    const { b = 0, c = 0, big = 0, ...others } = place(500);
    expect(others).toEqual({});
    for (const [count, share] of [
      [b, 125],
      [c, 125],
      [big, 250],
    ] as const) {
      expect(Math.abs(count - share)).toBeLessThan(3);
    }
  });

  test("fills itself up to 0.15 first, then keeps that distance", () => {
    add("a", ["gateway", "audio"]);
    add("b", ["audio"]);
    expect(place(76)).toEqual({ a: 76 });
    const { a = 0, b = 0 } = place(100);
    expect([a + b, Math.abs(a - b) < 3]).toEqual([100, true]);
  });

  test("counts a player until its machine must have renewed its record, and no longer", () => {
    add("gateway", ["gateway"]);
    add("b", ["audio"]);
    add("c", ["audio"], { load: 0.031 });
    expect(place(10)).toEqual({ b: 10 });
    clock.advance(RENEW_MS);
    expect(place(10)).toEqual({ b: 8, c: 2 });
    clock.advance(RENEW_MS);
    // Of the first ten, nothing is left to count.
    expect(place(8)).toEqual({ b: 8 });
    clock.advance(10 * RENEW_MS);
    expect(place(10)).toEqual({ b: 10 });
  });

  test("places none on machines that drain, that only have clients, or that say nothing of their load", () => {
    add("a", ["gateway", "audio"], { isDraining: true });
    add("b", ["gateway"]);
    add("c", ["audio"]);
    loads.delete("c");
    expect(chooser.choose({ region: "fra" })).toBeUndefined();
    add("d", ["audio"], { load: 0.9, hasCapacity: false });
    expect(chooser.choose({ region: "fra" })).toBe("d");
  });
});
