import { expect, test } from "vitest";
import { drainRoutes } from "../../../../src/control/api/drain-routes.ts";
import type { RestRequest } from "../../../../src/control/api/route.ts";

/** All of a request that the route reads. */
function withQuery(query: Readonly<Record<string, string>>): RestRequest {
  return { query: new Map(Object.entries(query)) } as unknown as RestRequest;
}

test("the deadline is passed on in milliseconds, and the answer tells what came of it", async () => {
  const asked: number[] = [];
  const [route] = drainRoutes({
    drain: async (timeoutMs) => {
      asked.push(timeoutMs);
      return { moved: 2, left: 1 };
    },
  });
  const answer = await route?.handle(withQuery({ deadline: "7" }));
  expect(answer).toMatchObject({ value: { moved: 2, left: 1 } });
  await route?.handle(withQuery({}));
  expect(asked).toEqual([7000, 60_000]);
  expect(route?.access).toBe("operator");
});

test.each(["", "-1", "3601", "1.5", "1e3", "99999"])("the deadline %j is refused", async (deadline) => {
  const [route] = drainRoutes({
    drain: () => {
      throw new Error("not asked");
    },
  });
  await expect(async () => route?.handle(withQuery({ deadline }))).rejects.toMatchObject({ status: 400 });
});
