// A short run of what test/fuzz does at length against a real node.

import { afterAll, beforeAll, expect, test } from "vitest";
import { anyRequest, isOurFault } from "../../../support/any-request.ts";
import { ApiServer } from "../../../support/api-server.ts";
import { seededRandom } from "../../../support/seeded-random.ts";

const REQUEST_COUNT = 800;

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
