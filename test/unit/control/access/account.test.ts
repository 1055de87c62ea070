import { expect, test } from "vitest";
import { accountFor, keyOf, ownerOf } from "../../../../src/control/access/account.ts";

test("the owner of a key's work names the key", () => {
  expect(keyOf(ownerOf(accountFor({ name: "music bot" }, "192.0.2.1"), "user 1"))).toBe("music bot");
});

test("the owner of work without a key names none, whatever its client is called", () => {
  expect(keyOf(ownerOf(accountFor({ name: undefined }, "192.0.2.1"), "key music-bot"))).toBeUndefined();
  expect(keyOf(["plugin songs"])).toBeUndefined();
});
