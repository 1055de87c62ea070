// The configuration of Rspress, which builds the site from the pages that build.mjs has prepared.

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "@rspress/core";
import { headingsOf } from "./markdown.mjs";
import { routeOf } from "./pages.mjs";
import { BASE } from "./settings.mjs";
import { pagesIn, SIDE_BAR } from "./side-bar.mjs";

const LAID_OUT = fileURLToPath(new URL("./tmp/pages", import.meta.url));

function titleOf(page) {
  const file = `${LAID_OUT}${routeOf(page)}.md`;
  return existsSync(file) ? (headingsOf(readFileSync(file, "utf8"))[0]?.text ?? page) : page;
}

function barItem(item) {
  if (typeof item === "string") return { text: titleOf(item), link: routeOf(item) };
  return { text: item.title, items: item.items.map(barItem), collapsible: true, collapsed: item.isFolded ?? false };
}

/** The link beside a heading is for the mouse: it is hidden from screen readers, so the keyboard skips it too. */
function skipHeadingMarks() {
  return (tree) => visit(tree);
}

function visit(node) {
  if (node.tagName === "a" && node.properties?.ariaHidden === "true") node.properties.tabIndex = -1;
  for (const child of node.children ?? []) visit(child);
}

export default defineConfig({
  root: LAID_OUT,
  outDir: fileURLToPath(new URL("./dist", import.meta.url)),
  base: BASE,
  title: "Tonearm",
  description: "An audio node for Discord bots that speaks the Lavalink v4 protocol.",
  lang: "en",
  icon: "/icon.svg",
  globalStyles: fileURLToPath(new URL("./theme/site.css", import.meta.url)),
  markdown: { rehypePlugins: [skipHeadingMarks], shiki: { fallbackLanguage: "text" } },
  builderConfig: { performance: { printFileSize: { detail: false } } },
  themeConfig: {
    nav: SIDE_BAR.map(({ title, items }) => ({ text: title, link: routeOf(pagesIn(items)[0]) })),
    sidebar: { "/": SIDE_BAR.map(barItem) },
  },
});
