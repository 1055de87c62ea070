// A short run of what test/slow/fuzz does at length against a real node.

import { afterAll, beforeAll, expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { anyRequest, isOurFault } from "../../../support/any-request.ts";
import { ApiServer } from "../../../support/api-server.ts";
import { randomFiltersBody } from "../../../support/random-filters.ts";

const REQUEST_COUNT = 800;
const FILTERS_COUNT = 500;

let server: ApiServer;

beforeAll(async () => {
  server = await ApiServer.start();
});

afterAll(() => server.close());

test("whatever is sent, it is answered and it is not our fault", async () => {
  const seed = Date.now() % 2 ** 32;
  console.log(`seed ${seed}`);
  const random = seededRandom(seed);
  const [client, other] = [await server.connect(), await server.connect({ "User-Id": "2" })];
  await server.request("PATCH", `/v4/sessions/${other.sessionId}/players/1`, { body: { volume: 42 } });
  for (let count = 0; count < REQUEST_COUNT; count++) {
    const { method, path, body } = anyRequest(random, client.sessionId);
    const answer = await server.request(method, path, { body, headers: { "Content-Type": "application/json" } });
    expect([method, path, body, answer.status, answer.json, isOurFault(answer)]).toEqual([
      ...[method, path, body, answer.status, answer.json],
      false,
    ]);
    if (answer.status >= 400 && answer.body !== "") expect(answer.json.status).toBe(answer.status);
  }
  await Promise.all([client.flushed(), other.flushed()]);
  const untouched = await server.request("GET", `/v4/sessions/${other.sessionId}/players`);
  expect(untouched.json).toMatchObject([{ guildId: "1", volume: 42, track: null }]);
});

test("whatever filters are sent are taken and answered so that they can be sent again, or refused", async () => {
  const seed = Date.now() % 2 ** 32;
  const random = seededRandom(seed);
  const client = await server.connect({ "User-Id": "3" });
  const path = `/v4/sessions/${client.sessionId}/players/1`;
  const statuses = { taken: 0, refused: 0 };
  for (let count = 0; count < FILTERS_COUNT; count++) {
    const filters = randomFiltersBody(random);
    const context = `seed ${seed}: ${JSON.stringify(filters)}`;
    const answer = await server.request("PATCH", path, { body: { filters } });
    if (answer.status === 400) {
      statuses.refused += 1;
      expect(answer.json.message, context).toMatch(/^(Bad Request|filters\..+ must be .+)$/);
      continue;
    }
    statuses.taken += 1;
    expect(answer.status, context).toBe(200);
    const again = await server.request("PATCH", path, { body: { filters: answer.json.filters } });
    expect([again.status, again.json.filters], context).toEqual([200, answer.json.filters]);
  }
  expect(Math.min(statuses.taken, statuses.refused)).toBeGreaterThan(FILTERS_COUNT / 20);
});
