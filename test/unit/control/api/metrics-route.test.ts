import { afterEach, expect, test } from "vitest";
import { ApiServer, PASSWORD } from "../../../support/api-server.ts";

const SOURCE = {
  contentType: "text/plain; version=0.0.4",
  read: (names: readonly string[] | undefined) => `names ${names?.join("+") ?? "all"}\n`,
  readAll: async (names: readonly string[] | undefined) => `machines, names ${names?.join("+") ?? "all"}\n`,
};

let server: ApiServer;

afterEach(() => server.close());

test("metrics on a path that was configured need no password", async () => {
  server = await ApiServer.start({ metrics: { path: "/inner/metrics", isPasswordNeeded: false, source: SOURCE } });
  for (const password of [null, "wrong"]) {
    const answer = await server.request("GET", "/inner/metrics", { password });
    expect([answer.status, answer.body]).toEqual([200, "names all\n"]);
    expect(answer.headers).toMatchObject({ "content-type": SOURCE.contentType, "lavalink-api-version": "4" });
  }
  const some = await server.request("GET", "/inner/metrics?name[]=a&name%5B%5D=b");
  expect(some.body).toBe("names a+b\n");
});

test("metrics on the default path need the password", async () => {
  server = await ApiServer.start({ metrics: { path: "/metrics", isPasswordNeeded: true, source: SOURCE } });
  expect((await server.request("GET", "/metrics", { password: null })).status).toBe(401);
  expect((await server.request("GET", "/metrics", { password: "wrong" })).status).toBe(403);
  expect((await server.request("GET", "/metrics")).status).toBe(200);
});

test("metrics take the password as Prometheus sends it, and no other route does", async () => {
  server = await ApiServer.start({ metrics: { path: "/metrics", isPasswordNeeded: true, source: SOURCE } });
  const ask = async (path: string, authorization: string) =>
    (await server.request("GET", path, { password: authorization })).status;
  const { headers } = await server.request("GET", "/metrics");
  expect(headers).toMatchObject({ "content-type": SOURCE.contentType });
  expect(await ask("/metrics", `Bearer ${PASSWORD}`)).toBe(200);
  expect(await ask("/metrics", `bearer  ${PASSWORD}`)).toBe(200);
  expect(await ask("/metrics", "Bearer wrong")).toBe(403);
  expect(await ask("/metrics", `Basic ${PASSWORD}`)).toBe(403);
  expect(await ask("/v4/info", `Bearer ${PASSWORD}`)).toBe(403);
});

test("metrics are those of all machines where they are asked for", async () => {
  server = await ApiServer.start({ metrics: { path: "/metrics", isPasswordNeeded: true, source: SOURCE } });
  expect((await server.request("GET", "/metrics?machines=all")).body).toBe("machines, names all\n");
  expect((await server.request("GET", "/metrics?machines=all&name[]=a")).body).toBe("machines, names a\n");
  expect((await server.request("GET", "/metrics?machines=2")).status).toBe(400);
  expect((await server.request("GET", "/metrics?machines=all", { password: null })).status).toBe(401);
});

test("there is nothing there while they are off", async () => {
  server = await ApiServer.start();
  expect((await server.request("GET", "/metrics")).status).toBe(404);
});
