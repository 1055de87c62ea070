import { beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../../src/log/log.ts";
import { OutboundGuard } from "../../../src/network/outbound-guard.ts";
import { OutgoingRoutes } from "../../../src/network/outgoing-routes.ts";
import { WorkRoute } from "../../../src/network/work-route.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeRoutePlanner } from "../../support/fake-route-planner.ts";

const SIGNAL = new AbortController().signal;

let planner: FakeRoutePlanner;
let work: WorkRoute;
/** Where each request left from. */
let senders: (string | undefined)[];
/** The site's status for an address. */
let statusFor: (address: string | undefined) => number;

beforeEach(() => {
  // Round robin: a request without a preferred address gets another one each time.
  planner = FakeRoutePlanner.loopback(5);
  work = new WorkRoute({ isSearch: false });
  senders = [];
  statusFor = () => 200;
});

function createRoutes(more: Partial<ConstructorParameters<typeof OutgoingRoutes>[0]> = {}): OutgoingRoutes {
  return new OutgoingRoutes({
    guard: new OutboundGuard(["127.0.0.0/8", "::1"]),
    clock: new FakeClock(),
    logger: silentLogger,
    retriesMax: 3,
    isTriggeredBySearch: true,
    resolveTimeoutMs: 5000,
    requestRoute: planner.requestRoute,
    send: planner.send,
    ...more,
  });
}

async function ask(
  routes: OutgoingRoutes,
  of: WorkRoute | undefined = work,
  url = "http://127.0.0.1/",
): Promise<number> {
  const sendFrom = async (address: string | undefined) => {
    senders.push(address);
    return { status: statusFor(address), body: { cancel: () => undefined } };
  };
  return (await routes.request({ url: new URL(url), sendFrom, signal: SIGNAL }, of)).status;
}

describe("requests of one piece of work", () => {
  test("the requests of one work use one address, also concurrent ones, and other work uses others", async () => {
    const routes = createRoutes();
    await Promise.all([ask(routes), ask(routes), ask(routes)]);
    await ask(routes);
    expect(senders).toEqual(new Array(4).fill("127.16.0.1"));
    await ask(routes, new WorkRoute({ isSearch: false }));
    await routes.request({ url: new URL("http://127.0.0.1/"), sendFrom: fromAnywhere, signal: SIGNAL });
    expect(senders.slice(4)).toEqual(["127.16.0.2", "127.16.0.3"]);
  });

  test("all requests of one work move on with the first refusal, also those refused a moment later", async () => {
    const routes = createRoutes();
    await ask(routes);
    statusFor = (address) => (address === "127.16.0.1" ? 429 : 200);
    expect(await Promise.all([ask(routes), ask(routes)])).toEqual([200, 200]);
    await ask(routes);
    const next = work.address;
    expect(next).not.toBe("127.16.0.1");
    expect(senders.slice(1)).toEqual(["127.16.0.1", "127.16.0.1", next, next, next]);
    expect(new Set(planner.failed)).toEqual(new Set(["127.16.0.1"]));
  });

  test("the requests of one work move on when other work has barred the address", async () => {
    const routes = createRoutes();
    await ask(routes);
    planner.send({ type: "routeFailed", address: "127.16.0.1", reason: "banned" });
    await ask(routes);
    expect(senders[1]).not.toBe("127.16.0.1");
    expect(senders).toHaveLength(2);
  });

  test("the requests of one work are unbound for a host of another family, and keep their address for others", async () => {
    const routes = createRoutes();
    await ask(routes);
    await ask(routes, work, "http://[::1]/");
    await ask(routes);
    expect(senders).toEqual(["127.16.0.1", undefined, "127.16.0.1"]);
  });

  test("the requests of one work report why they found no address, until one finds one", async () => {
    planner = FakeRoutePlanner.loopback(1);
    const routes = createRoutes();
    statusFor = () => 429;
    await expect(ask(routes)).rejects.toMatchObject({ code: "routes-exhausted" });
    expect(work.exhaustion).toMatchObject({ code: "routes-exhausted", message: expect.stringContaining("HTTP 429") });
    await expect(routes.addressOf(work, SIGNAL)).rejects.toMatchObject({ code: "routes-exhausted" });
    planner.reports.length = 0;
    statusFor = () => 200;
    expect(await ask(routes)).toBe(200);
    expect(work.exhaustion).toBeUndefined();
  });

  test("the requests of one work use an address that was requested before the first of them", async () => {
    const routes = createRoutes();
    expect(await routes.addressOf(work, SIGNAL)).toBe("127.16.0.1");
    await ask(routes);
    expect(await routes.addressOf(work, SIGNAL)).toBe("127.16.0.1");
    expect(senders).toEqual(["127.16.0.1"]);
  });
});

describe("a search that is refused", () => {
  test("a refused search counts and is retried if the operator has enabled it", async () => {
    work = new WorkRoute({ isSearch: true });
    statusFor = (address) => (address === "127.16.0.1" ? 429 : 200);
    expect(await ask(createRoutes())).toBe(200);
    expect(planner.failed).toEqual(["127.16.0.1"]);
  });

  test("a refused search is otherwise the site's answer, but an address that cannot be sent from always counts", async () => {
    work = new WorkRoute({ isSearch: true });
    const routes = createRoutes({ isTriggeredBySearch: false });
    statusFor = () => 429;
    expect(await ask(routes)).toBe(429);
    expect([senders.length, planner.failed]).toEqual([1, []]);
    statusFor = () => {
      if (senders.length > 2) return 200;
      throw Object.assign(new Error("no such address"), { code: "EADDRNOTAVAIL", syscall: "bind" });
    };
    expect(await ask(routes)).toBe(200);
    expect(planner.reports).toMatchObject([{ address: "127.16.0.1", reason: "unusable" }]);
  });
});

describe("a request with a single allowed address", () => {
  const bound = (routes: OutgoingRoutes, address: string, url = "http://127.0.0.1/") =>
    routes.requestFrom(address, { url: new URL(url), sendFrom: fromAnywhere, signal: SIGNAL });

  test("a request with a single allowed address is sent from it", async () => {
    expect(await bound(createRoutes(), "127.16.0.4")).toMatchObject({ status: 200 });
    expect(senders).toEqual(["127.16.0.4"]);
  });

  test("a request with a single allowed address is not sent if that is barred, nor from another one if refused", async () => {
    const routes = createRoutes();
    statusFor = () => 429;
    expect(await bound(routes, "127.16.0.4")).toBeUndefined();
    expect([senders, planner.failed]).toEqual([["127.16.0.4"], ["127.16.0.4"]]);
    expect(await bound(routes, "127.16.0.4")).toBeUndefined();
    expect(senders).toHaveLength(1);
  });

  test("a request with a single allowed address is unbound for a host of another family", async () => {
    await bound(createRoutes(), "127.16.0.4", "http://[::1]/");
    expect(senders).toEqual([undefined]);
  });
});

async function fromAnywhere(address: string | undefined) {
  senders.push(address);
  return { status: statusFor(address), body: { cancel: () => undefined } };
}
