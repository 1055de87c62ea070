import { beforeEach, expect, test } from "vitest";
import { type ErrorCode, NodeError } from "../../../../src/errors.ts";
import { SourceHealth } from "../../../../src/plugin-host/manage/source-health.ts";

let health: SourceHealth;

beforeEach(() => {
  health = new SourceHealth();
});

async function fail(error: Error): Promise<void> {
  await expect(health.count(Promise.reject(error), () => 12.4)).rejects.toBe(error);
}

test("a success is counted, and passed on", async () => {
  expect(await health.count(Promise.resolve("found"), () => 0)).toBe("found");
  expect(health.toJson()).toEqual({ succeeded: 1, refused: 0, failed: 0, lastError: null });
});

test("an unavailable item does not count as a failure of the source, but is its last error", async () => {
  await fail(new NodeError("site-unavailable", "it is private"));
  const lastError = { code: "site-unavailable", message: "it is private", atMs: 12 };
  expect(health.toJson()).toEqual({ succeeded: 0, refused: 1, failed: 0, lastError });
});

test.each<ErrorCode>(["site-busy", "site-changed", "plugin-failed", "plugin-lost", "load-timeout"])(
  "%s counts as a failure",
  async (code) => {
    await fail(new NodeError(code, "no"));
    expect(health.toJson()).toMatchObject({ refused: 0, failed: 1, lastError: { code } });
  },
);

test("an aborted request does not count", async () => {
  await fail(new DOMException("gone", "AbortError"));
  expect(health.toJson()).toEqual({ succeeded: 0, refused: 0, failed: 0, lastError: null });
});

test("error messages are short and without secrets", async () => {
  await fail(new NodeError("site-busy", `https://a.example/?token=abcdef0123456789 ${"x".repeat(1000)}`));
  const { message = "" } = health.toJson().lastError ?? {};
  expect(message).toContain("token=<redacted>");
  expect(message).toHaveLength(300);
});
