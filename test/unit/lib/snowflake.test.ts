import { expect, test } from "vitest";
import { INT64_MAX, INT64_MIN, isInt64 } from "../../../src/lib/int64.ts";
import { isSnowflake } from "../../../src/lib/snowflake.ts";

test("the id of Discord is an unsigned 64-bit integer in plain digits", () => {
  for (const id of ["0", "1", "81384788765712384", "18446744073709551615"]) expect(isSnowflake(id), id).toBe(true);
  const wrong = [undefined, "", "-1", "+1", "1.0", "1e3", " 1", "0x10", "18446744073709551616", "1".repeat(21)];
  for (const id of wrong) expect(isSnowflake(id), id).toBe(false);
});

test("a signed integer fits 64 bits up to both ends", () => {
  for (const value of [0n, INT64_MIN, INT64_MAX]) expect(isInt64(value)).toBe(true);
  for (const value of [INT64_MIN - 1n, INT64_MAX + 1n]) expect(isInt64(value)).toBe(false);
});
