// Twenty thousand requests over every route of a real node, several at once. To repeat a run: FUZZ_SEED=… npx vitest
// run test/slow/fuzz

import { afterAll, beforeAll, expect, test } from "vitest";
import { seededRandom } from "../../../lab/seeded-random.ts";
import { type AnyRequest, anyRequest, isOurFault } from "../../support/any-request.ts";
import { fuzzSeed } from "../../support/fuzz-seed.ts";
import { type Answer, NodeUnderFire } from "./node-under-fire.ts";

const WARM_UP_COUNT = 6000;
const REQUEST_COUNT = 14_000;
const AT_ONCE = 8;

let node: NodeUnderFire;

beforeAll(async () => {
  node = await NodeUnderFire.start();
});

afterAll(() => node.close());

test("any request to any route is answered without a fault, without memory growth, and without an effect on others", async () => {
  const random = seededRandom(fuzzSeed());
  const statuses = new Map<number, number>();
  await fire(random, WARM_UP_COUNT, statuses);
  const warmMemoryBytes = await node.memoryBytes();
  await fire(random, REQUEST_COUNT, statuses);
  console.log(`${WARM_UP_COUNT + REQUEST_COUNT} requests`, Object.fromEntries([...statuses].sort()));
  // Or the generator makes nothing that gets far.
  for (const status of [200, 204, 400, 404, 405]) expect([status, statuses.has(status)]).toEqual([status, true]);
  await node.expectUnharmed(warmMemoryBytes);
});

async function fire(random: () => number, count: number, statuses: Map<number, number>): Promise<void> {
  let left = count;
  const shoot = async (): Promise<void> => {
    while (left-- > 0) {
      const request = anyRequest(random, node.sessionId);
      const answer = await node.request(request.method, request.path, request.body);
      check(request, answer);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, shoot));
}

function check(request: AnyRequest, answer: Answer): void {
  if (isOurFault(answer)) throw new Error(`${JSON.stringify(request)} got ${answer.status} ${answer.body}`);
  const isWhole = answer.status < 400 || answer.body === "" || answer.json?.status === answer.status;
  if (!isWhole) throw new Error(`${JSON.stringify(request)} got no error object: ${answer.body}`);
}
