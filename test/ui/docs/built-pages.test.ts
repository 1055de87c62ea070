// The built docs site: every link and anchor has a target, nothing is loaded from another host, and the search has its
// index.

import { readdirSync, readFileSync } from "node:fs";
import { posix, relative, sep } from "node:path";
import { describe, expect, test } from "vitest";
import { PAGES, routeOf } from "../../../docs/site/pages.mjs";
import { PROJECT_ROOT } from "../../support/project-files.ts";
import { siteFile } from "../../support/site-server.ts";

const SITE = `${PROJECT_ROOT}docs/site/dist`;
const FILES = readdirSync(SITE, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, name }) => relative(SITE, `${parentPath}/${name}`).split(sep).join("/"));
const HTML = new Map(
  FILES.filter((file) => file.endsWith(".html")).map((file) => [file, readFileSync(`${SITE}/${file}`, "utf8")]),
);
/** The ids that links may have as anchors, by file. */
const IDS = new Map(
  Array.from(HTML, ([file, text]) => [file, new Set(Array.from(text.matchAll(/ id="([^"]+)"/g), ([, id]) => id))]),
);

/** Addresses in a page, with what they stand in. */
function addressesIn(text: string): { readonly tag: string; readonly address: string }[] {
  return Array.from(text.matchAll(/<([a-z]+)\b[^>]*? (?:href|src|srcset|poster|action)="([^"]*)"/g), (match) => ({
    tag: match[1] ?? "",
    address: (match[2] ?? "").replaceAll("&amp;", "&").replaceAll("&#x27;", "'"),
  }));
}

describe("the built site", () => {
  test("every page of the side bar is built, with its title, and its text without a script", () => {
    for (const page of PAGES) {
      const text = HTML.get(`${(routeOf(page) ?? "").replace(/^\//, "") || "index"}.html`) ?? "";
      const main = /<h1[^>]*>([\s\S]*?)<\/h1>/.exec(text.replace(/<script[\s\S]*?<\/script>/g, ""));
      expect(main?.[1]?.replaceAll(/<[^>]*>/g, "").length, page).toBeGreaterThan(3);
    }
    expect(HTML.size).toBeGreaterThanOrEqual(PAGES.length);
  });

  test("every link of the built site has a page and an anchor as its target", () => {
    let count = 0;
    const broken = Array.from(HTML).flatMap(([file, text]) =>
      addressesIn(text).flatMap(({ address }) => {
        if (/^[a-z]+:|^\/\//.test(address)) return [];
        count++;
        const [path = "", anchor = ""] = address.split("#", 2);
        const target = path === "" ? `${SITE}/${file}` : siteFile(SITE, posix.resolve(`/${posix.dirname(file)}`, path));
        const ids = IDS.get(
          relative(SITE, target ?? "")
            .split(sep)
            .join("/"),
        );
        const isThere = target !== undefined && (anchor === "" || ids?.has(decodeURIComponent(anchor)) === true);
        return isThere ? [] : [`${file}: ${address}`];
      }),
    );
    expect(broken).toEqual([]);
    expect(count).toBeGreaterThan(2000);
  });

  test("the built site loads nothing from another host", () => {
    const loaded = Array.from(HTML).flatMap(([file, text]) =>
      addressesIn(text)
        .filter(({ tag, address }) => tag !== "a" && /^([a-z]+:)?\/\//.test(address))
        .map(({ address }) => `${file}: ${address}`),
    );
    const styles = FILES.filter((file) => file.endsWith(".css")).flatMap((file) =>
      Array.from(readFileSync(`${SITE}/${file}`, "utf8").matchAll(/(?:url\(|@import )["']?((?:[a-z]+:)?\/\/[^)"']*)/g)),
    );
    expect([...loaded, ...styles.map(([, address]) => address)]).toEqual([]);
  });

  test("the search index has words of every page", () => {
    const [index = ""] = FILES.filter((file) => /search_index.*\.json$/.test(file));
    // Written by the generator; the next line fails loudly when it has another shape.
    const pages = JSON.parse(readFileSync(`${SITE}/${index}`, "utf8")) as { routePath: string; content: string }[];
    const found = new Set(pages.filter(({ content }) => content.length > 50).map(({ routePath }) => routePath));
    expect(PAGES.map((page) => routeOf(page)).filter((route) => !found.has(route ?? ""))).toEqual([]);
  });

  test("the OpenAPI page shows each route and each schema, and the document itself", () => {
    const document: ReturnType<JSON["parse"]> = JSON.parse(readFileSync(`${SITE}/openapi.json`, "utf8"));
    const ids = IDS.get("reference/openapi.html");
    const headings = Array.from(
      (HTML.get("reference/openapi.html") ?? "").matchAll(/<h3[^>]*>(?:<a[^>]*>#<\/a>)?([^<]+)<\/h3>/g),
      ([, text = ""]) => text,
    );
    const routes = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const schemas = Object.keys(document.components.schemas);
    expect(headings.toSorted()).toEqual([...routes, ...schemas].toSorted());
    expect(schemas.filter((name) => ids?.has(name.toLowerCase()) !== true)).toEqual([]);
    expect(routes.length).toBeGreaterThan(20);
  });
});
