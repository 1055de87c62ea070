import { expect, test } from "vitest";
import { RecordSubjects, withoutContained } from "../../../src/cluster/record-subjects.ts";

const subjects = new RecordSubjects("test");

test.each(["meta/contract", "player/aZ09_-/5", "message/s/a.b c*>=", "kept/s/ü"])(
  "the key %s becomes a subject and is found again",
  (key) => {
    const subject = subjects.ofKey(key);
    expect(subject).toMatch(/^\$KV\.test\.[A-Za-z0-9_=.-]+$/);
    expect(subject.split(".")).toHaveLength(key.split("/").length + 2);
    expect(subjects.keyOf(subject)).toBe(key);
  },
);

test("signs of a pattern stay in a pattern, and are escaped in a key", () => {
  expect(subjects.ofPattern("*/s1/>")).toBe("$KV.test.*.s1.>");
  expect(subjects.ofKey("a/*")).toBe("$KV.test.a.=2a");
});

test.each(["", "a//b", "/a", "x".repeat(501), "a/€"])("%j is not a key", (key) => {
  expect(() => subjects.ofKey(key)).toThrow(TypeError);
});

test("subjects that others contain are left out", () => {
  const given = ["k.*.s", "k.owner.s", "k.*.s.>", "k.player.s.1", "k.player.s.*.2", "k.player", "k.*.s"];
  expect(withoutContained(given)).toEqual(["k.*.s", "k.*.s.>", "k.player"]);
  expect(withoutContained(["k.>", "k.*", "k.a.>", "l.a"])).toEqual(["k.>", "l.a"]);
});
