import { posix } from "node:path";
import { expect, test } from "vitest";
import { typescriptFiles } from "../../support/project-files.ts";
import { importsOf } from "./imports.ts";
import { ROOMS, roomOf } from "./rooms.ts";

const FILES = typescriptFiles("src/", "lab/", "plugins/", "dashboard/");

test("ARCHITECTURE.md names rooms that are there, each once, with something in them", () => {
  const inhabited = new Set(FILES.map(({ path }) => roomOf(path)));
  expect(ROOMS.filter((room) => !inhabited.has(room))).toEqual([]);
  expect(new Set(ROOMS).size).toBe(ROOMS.length);
  expect(ROOMS.length).toBeGreaterThan(20);
});

test("every file is in a room", () => {
  expect(FILES.filter(({ path }) => roomOf(path) === undefined).map(({ path }) => path)).toEqual([]);
});

test("imports stay in their room or lead to a floor below", () => {
  const upwards = FILES.flatMap((file) =>
    importsOf(file).flatMap((target) => {
      const [from, to] = [roomOf(file.path), roomOf(target)];
      const isDown = from === undefined || to === undefined || ROOMS.indexOf(from) <= ROOMS.indexOf(to);
      return isDown ? [] : [`${file.path} -> ${posix.normalize(target)}`];
    }),
  );
  expect(upwards).toEqual([]);
});

test("no file leads back to itself by its imports", () => {
  const targets = new Map(
    typescriptFiles("src/", "lab/", "plugins/", "dashboard/", "test/").map((file) => [file.path, importsOf(file)]),
  );
  const circles: string[] = [];
  const isDone = new Map<string, boolean>();
  const visit = (path: string, way: readonly string[]): void => {
    if (isDone.get(path) === false) circles.push([...way.slice(way.indexOf(path)), path].join(" > "));
    if (isDone.has(path)) return;
    isDone.set(path, false);
    for (const target of targets.get(path) ?? []) visit(target, [...way, path]);
    isDone.set(path, true);
  };
  for (const path of targets.keys()) visit(path, []);
  expect(circles).toEqual([]);
});
