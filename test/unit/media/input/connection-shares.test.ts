import { expect, it } from "vitest";
import { type ConnectionShare, ConnectionShares } from "../../../../src/media/input/connection-shares.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const NEVER = new AbortController().signal;

function start() {
  const clock = new FakeClock();
  const shares = new ConnectionShares(clock);
  let count = 0;
  /** Two accounts in turn, unless one is named. */
  const take = (site: string, signal = NEVER, account = `key ${count++ % 2}`): Promise<ConnectionShare> =>
    shares.take(site, { owner: [account, `${account}, user 1`], waitMsMax: 6_000, signal });
  const takeMany = (site: string, count: number) => Promise.all(Array.from({ length: count }, () => take(site)));
  return { clock, take, takeMany };
}

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const waiting = Symbol("waiting");
  return (await Promise.race([promise, new Promise((resolve) => setImmediate(resolve, waiting))])) !== waiting;
}

it("a site that never answers delays only requests to itself", async () => {
  const { clock, take, takeMany } = start();
  await takeMany("slow.example", 128);
  const waiting = take("slow.example");
  expect(await isSettled(waiting)).toBe(false);
  await expect(take("other.example")).resolves.toBeDefined();
  clock.advance(6_000);
  await expect(waiting).rejects.toMatchObject({ code: "input-site-busy" });
  expect(clock.pendingCount).toBe(0);
});

it("an answer admits the next request, a closed connection admits one more", async () => {
  const { take, takeMany } = start();
  const shares = await takeMany("site.example", 128);
  const [first, second] = [take("site.example"), take("site.example")];
  shares[0]?.opened();
  await first;
  expect(await isSettled(second)).toBe(false);
  shares[0]?.release();
  shares[0]?.release();
  expect(await isSettled(second)).toBe(false);
  shares[1]?.release();
  await second;
});

it("many connections to one station are admitted, up to a limit", async () => {
  const { take } = start();
  for (let count = 0; count < 2_048; count++) (await take("radio.example")).opened();
  expect(await isSettled(take("radio.example"))).toBe(false);
  await expect(take("other.example")).resolves.toBeDefined();
});

it("connections to all sites together have a limit, and waiting requests are admitted in order", async () => {
  const { take } = start();
  const shares: ConnectionShare[] = [];
  for (let count = 0; count < 4_096; count++) shares.push(await take(`${count % 100}.example`));
  const [first, second] = [take("a.example"), take("b.example")];
  shares[0]?.release();
  await first;
  expect(await isSettled(second)).toBe(false);
  shares[1]?.release();
  await second;
});

it("an aborted request stops waiting and takes no permit", async () => {
  const { clock, take, takeMany } = start();
  const shares = await takeMany("site.example", 128);
  const abort = new AbortController();
  const called = take("site.example", abort.signal);
  abort.abort(new Error("aborted"));
  await expect(called).rejects.toThrow("aborted");
  const next = take("site.example");
  shares[0]?.release();
  await next;
  expect(clock.pendingCount).toBe(0);
});

it("one account cannot take all connections of a site, or of all sites", async () => {
  const { take } = start();
  const takeAll = async (site: string, max: number): Promise<void> => {
    for (let count = 0; count < max; count++) await take(site, NEVER, "greedy");
    expect(await isSettled(take(site, NEVER, "greedy"))).toBe(false);
  };
  await takeAll("slow.example", 96);
  await expect(take("slow.example", NEVER, "honest")).resolves.toBeDefined();
  for (let site = 0; site < 31; site++) {
    for (let count = 0; count < 96; count++) (await take(`${site}.example`, NEVER, "greedy")).opened();
  }
  expect(await isSettled(take("more.example", NEVER, "greedy"))).toBe(false);
  await expect(take("more.example", NEVER, "honest")).resolves.toBeDefined();
});
