// Compares docs/reference/websocket.md and sources.md with the code. Configuration, REST, filters, errors and metrics
// have tests like these where their tables are generated: test/unit/config, control/api, filters and metrics, and
// documents.test.ts.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { BUILTIN_PLUGINS } from "../../../plugins/builtin.ts";
import { v3Operation } from "../../../src/control/api/v3/bodies.ts";
import * as closeCodes from "../../../src/lib/close-codes.ts";
import { PROJECT_ROOT, projectFiles } from "../../support/project-files.ts";

function read(path: string): string {
  return readFileSync(PROJECT_ROOT + path, "utf8");
}

/** The text below a heading, up to the next heading of the same level or above. */
function sectionOf(page: string, heading: string): string {
  const level = /^#+/.exec(heading)?.[0].length ?? 0;
  const rest = page.slice(page.indexOf(`\n${heading}\n`) + heading.length + 1);
  return rest.split(new RegExp(`^#{1,${level}} `, "m"), 1)[0] ?? "";
}

/** The cells of the first table, without its head. */
function rowsOf(section: string): string[][] {
  const table = /(?:^\|.*\|\n)+/m.exec(section)?.[0] ?? "";
  const rows = table.trimEnd().split("\n").slice(2);
  return rows.map((row) =>
    row
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

/** The first cell of each row: the words in back quotes, or the text. */
function firstCells(section: string): string[] {
  return rowsOf(section).flatMap(([cell = ""]) => (cell.includes("`") ? wordsIn(cell) : [cell]));
}

function wordsIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word);
}

describe("docs/reference/websocket.md", () => {
  const page = read("docs/reference/websocket.md");
  const messages = read("src/control/protocol/outgoing-message.ts");

  function headingsIn(section: string): string[] {
    return [...section.matchAll(/^### (.+)$/gm)].map(([, heading = ""]) => heading);
  }

  test("has a section for every message that the node sends, and no others", () => {
    const sent = new Set(Array.from(messages.matchAll(/readonly op: "(\w+)"/g), ([, op = ""]) => op));
    expect(headingsIn(sectionOf(page, "## Messages")).toSorted()).toEqual([...sent].toSorted());
  });

  test("has a section for every event, and every reason for the end of a track", () => {
    const events = Array.from(messages.matchAll(/EventOf<"(\w+)">/g), ([, type = ""]) => type);
    const sections = headingsIn(sectionOf(page, "## Events")).filter((heading) => heading !== "Exception");
    expect(sections.toSorted()).toEqual(events.toSorted());
    const [, reasons = ""] = /type TrackEndReasonJson = (.+);/.exec(messages) ?? [];
    const named = firstCells(sectionOf(page, "### TrackEndEvent"));
    expect(named.toSorted()).toEqual([...reasons.matchAll(/"(\w+)"/g)].map(([, reason]) => reason).toSorted());
  });

  test("has every member of messages and events that is sent", () => {
    const members = [...messages.matchAll(/readonly (\w+):/g)].map(([, member = ""]) => member);
    expect(members.filter((member) => !new RegExp(`\\b${member}\\b`).test(page))).toEqual([]);
    expect(members.length).toBeGreaterThan(10);
  });

  test("has the codes with which the node closes a client's socket, and no others", () => {
    const modules = ["src/control/server/", "src/control/sessions/"].flatMap((folder) => projectFiles(folder));
    const constants = new Map<string, number>(Object.entries(closeCodes));
    const codes = modules.flatMap(({ text }) => [
      ...Array.from(text.matchAll(/\.close\((\w+)\b/g), ([, code = ""]) => constants.get(code) ?? Number(code)),
      // The library's close code for a longer message (RFC 6455 section 7.4.1).
      ...(/maxPayload:/.test(text) ? [1009] : []),
    ]);
    const sent = new Set(codes.filter((code) => code >= 1000));
    expect(firstCells(sectionOf(page, "## Close codes"))).toEqual([...sent].toSorted().map(String));
  });

  test("has every operation of v3 with its members", () => {
    const named = new Map(
      rowsOf(sectionOf(page, "## v3")).flatMap(([operations = "", members = ""]) =>
        wordsIn(operations).map((op) => [op, members] as const),
      ),
    );
    const known = v3Operation.options.map(({ shape: { op, ...members } }) => ({ op: op.value, members }));
    expect([...named.keys()].toSorted()).toEqual(known.map(({ op }) => op).toSorted());
    for (const { op, members } of known) {
      // Its members other than the guild are the filters themselves.
      const names = op === "filters" ? ["guildId"] : Object.keys(members);
      expect(
        names.filter((name) => !named.get(op)?.includes(`\`${name}\``)),
        op,
      ).toEqual([]);
    }
  });
});

describe("docs/reference/sources.md", () => {
  const page = read("docs/reference/sources.md");
  const rows = rowsOf(page).map(([sources = "", plugin = "", , prefixes = ""]) => ({
    sources: wordsIn(sources),
    plugin: wordsIn(plugin)[0],
    prefixes: wordsIn(prefixes),
  }));

  /** Every source with its plugin; yt-dlp's are for its options to say, so links of everything are. */
  const known = BUILTIN_PLUGINS.flatMap(({ manifest, sources }) =>
    [...manifest.sources, ...(sources?.({ sites: ["*"] }) ?? [])].map(({ name, prefixes = [] }) => ({
      plugin: manifest.name as string,
      name,
      prefixes: [...prefixes],
    })),
  );

  test("sources.md names every built-in plugin, with its sources, and no others", () => {
    const listed = rows.flatMap(({ sources, plugin = "" }) => sources.map((name) => `${plugin} ${name}`));
    const there = [...known.map(({ plugin, name }) => `${plugin} ${name}`), " local", " http"];
    expect(listed.toSorted()).toEqual([...new Set(there)].toSorted());
  });

  test("names prefixes that their plugin claims", () => {
    const wrong = rows.flatMap(({ plugin, prefixes }) => {
      const claimed = known.filter((source) => source.plugin === plugin).flatMap((source) => source.prefixes);
      return prefixes.filter((prefix) => !claimed.some((claim) => prefix.startsWith(claim)));
    });
    expect(wrong).toEqual([]);
    expect(rows.flatMap(({ prefixes }) => prefixes).length).toBeGreaterThan(10);
  });

  test("names every option of a plugin", () => {
    const missing = BUILTIN_PLUGINS.flatMap(({ manifest }) =>
      Object.keys(manifest.config)
        .filter((option) => !new RegExp(`\\b${option}\\b`).test(page))
        .map((option) => `${manifest.name}.${option}`),
    );
    expect(missing).toEqual([]);
  });
});
