// The docs site before it is built: every page is in the side bar, and everything that the pages name exists.

import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { codeBlocksOf, headingsOf, linksOf } from "../../../docs/site/markdown.mjs";
import { forTheSite, PAGES, routeOf, sourcesUrlOf } from "../../../docs/site/pages.mjs";
import { CONFIG_EXAMPLE_PAGE, OPENAPI_PAGE } from "../../../docs/site/side-bar.mjs";
import { PROJECT_ROOT, projectFiles } from "../../support/project-files.ts";

const MADE = [CONFIG_EXAMPLE_PAGE, OPENAPI_PAGE];
const DOCUMENTS = projectFiles("").filter(({ path }) => path.endsWith(".md"));

test("every page is in the side bar, once, and the side bar has no others", () => {
  // The pictures of README.md are on the site's start page, which README.md links to.
  const pages = DOCUMENTS.map(({ path }) => path).filter((path) => path !== "README.md");
  expect([...PAGES].toSorted()).toEqual([...pages, ...MADE].toSorted());
});

test("every page has a separate address, and a title", () => {
  const routes = PAGES.map((page) => routeOf(page));
  expect(new Set(routes).size).toBe(PAGES.length);
  const untitled = PAGES.filter((page) => !MADE.includes(page) && !existsSync(PROJECT_ROOT + page)).concat(
    DOCUMENTS.filter(({ text }) => !text.startsWith("# ")).map(({ path }) => path),
  );
  expect(untitled).toEqual([]);
});

test("no page has the path of a generated page", () => {
  expect(MADE.filter((page) => existsSync(PROJECT_ROOT + page))).toEqual([]);
});

test("links, headings and code blocks are found in a page, and none in code", () => {
  const page = [
    "# A `b` {c}",
    'See [x\ny](a.md#b), [`z`](../c.ts) and ![p](p.svg "t"); `[no](no.md)`.',
    "```yaml\n# no heading\n[no](no.md): 1\n```",
    "## GET /v4/a/{id}",
    "- item:",
    "  ```sh\n  run it\n  ```",
    "## GET /v4/a/{id}",
  ].join("\n\n");
  expect(linksOf(page).map(({ text, target, isImage }) => [text, target, isImage])).toEqual([
    ["x\ny", "a.md#b", false],
    ["`z`", "../c.ts", false],
    ["p", "p.svg", true],
  ]);
  expect(headingsOf(page).map(({ anchor }) => anchor)).toEqual(["a-b-c", "get-v4aid", "get-v4aid-1"]);
  expect(codeBlocksOf(page)).toEqual([
    { language: "yaml", code: "# no heading\n[no](no.md): 1", line: 6 },
    { language: "sh", code: "run it", line: 15 },
  ]);
});

test("links have pages of the site as targets; other files are named, or linked in the source repository", () => {
  const page = [
    "[rest](rest.md#bounds) [all](../../config.example.yml) [why](../decisions) [home](../../README.md#start)",
    "[tick-loop.ts](../../src/media/scheduler/tick-loop.ts) [the lab](../../lab/quality) [web](https://example.org/a.md)",
    "![chart](chart.svg) [here](#bounds) `[code](rest.md)`",
  ].join("\n");
  const path = "docs/reference/websocket.md";
  expect(forTheSite(page, { path, sourcesUrl: "" })).toBe(
    [
      "[rest](/reference/rest#bounds) [all](/reference/config-example) [why](/decisions/build) [home](/)",
      "`src/media/scheduler/tick-loop.ts` the lab (`lab/quality`) [web](https://example.org/a.md)",
      "![chart](chart.svg) [here](#bounds) `[code](rest.md)`",
    ].join("\n"),
  );
  expect(forTheSite(page, { path, sourcesUrl: "https://example.org/tonearm" })).toContain(
    "[the lab](https://example.org/tonearm/lab/quality)",
  );
});

test("pages link to the source repository of package.json once that is no placeholder", () => {
  expect(sourcesUrlOf("git+https://tonearm.invalid/tonearm.git")).toBe("");
  expect(sourcesUrlOf("git+https://example.org/us/tonearm.git")).toBe("https://example.org/us/tonearm/blob/HEAD");
});

test("docs/index.md links to every page of the side bar's first level, except those about the project", () => {
  const front = new Set(linksOf(readFileSync(`${PROJECT_ROOT}docs/index.md`, "utf8")).map(({ target }) => target));
  const firstLevel = PAGES.filter((page) => /^docs\/(tutorial|how-to|explanation)\//.test(page));
  expect(firstLevel.filter((page) => !front.has(page.slice("docs/".length)))).toEqual([]);
});
