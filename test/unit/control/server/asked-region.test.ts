import { expect, test } from "vitest";
import { askedRegion } from "../../../../src/control/server/asked-region.ts";

test("the region is that of the voice server in the body", () => {
  const voice = { token: "t", endpoint: "rotterdam9032.discord.media:443", sessionId: "s" };
  expect(askedRegion(JSON.stringify({ volume: 5, voice }))).toBe("rotterdam");
  expect(askedRegion(JSON.stringify({ voice }, null, 2))).toBe("rotterdam");
  expect(askedRegion('{"voice":{"endpoint":"us\\u002deast1.discord.media"}}')).toBe("us-east");
});

test.each([
  ["no body", ""],
  ["no voice", "{}"],
  ["no object", '{"voice":5}'],
  ["no endpoint", '{"voice":{"token":"t"}}'],
  ["an endpoint that is no text", '{"voice":{"endpoint":5}}'],
  ["an endpoint without a host", '{"voice":{"endpoint":"?"}}'],
  ["no JSON", '{"voice":{"endpoint":"rotterdam1.discord.media",}}'],
  ["an end within the voice server", '{"voice":{"endpoint":"rotterdam1.discord.media"'],
  ["a voice server that is too long", `{"voice":{"endpoint":"a.discord.media","token":"${"x".repeat(5000)}"}}`],
])("a body without a readable voice server names no region: %s", (_what, body) => {
  expect(askedRegion(body)).toBeUndefined();
});

test("a voice server is found behind much else, and much that looks like one is left soon", () => {
  const voice = '"voice":{"endpoint":"rotterdam1.discord.media"}';
  expect(askedRegion(`{"x":"${"y".repeat(1_000_000)}",${voice}}`)).toBe("rotterdam");
  const openings = '"voice" : {"x":"'.repeat(20_000);
  expect(askedRegion(openings)).toBeUndefined();
  expect(askedRegion(`${'"voice"'.padEnd(4000, " ").repeat(100)}:{`)).toBeUndefined();
});
