// Builds the dashboard's page as the node serves it: the browser code of `dashboard/` in one small file, and the files
// that need no building next to it. Needs the development packages; part of `npm run build`.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

/** This file is compiled to dist/lab/bundles. */
const PAGE = new URL(import.meta.url.endsWith(".ts") ? "../../dashboard/" : "../../../dashboard/", import.meta.url);
/** As they are. */
const PLAIN_FILES = ["index.html", "app.css", "icon.svg"];
/** The language level of browsers that support the style sheet's `light-dark()`. */
const BROWSERS = "es2022";

/** The files of the folder `dashboard/` next to the node's programs. */
interface PageFiles {
  /** Texts by their names. */
  readonly texts: ReadonlyMap<string, string>;
  /** Paths of what stands in them. */
  readonly modules: readonly string[];
}

/** Builds the page, a tenth of a second's work. Throws where the page imports anything of the node but types. */
export async function buildPage(): Promise<PageFiles> {
  const build = await rolldown({
    input: fileURLToPath(new URL("main.tsx", PAGE)),
    cwd: fileURLToPath(PAGE),
    platform: "browser",
    tsconfig: fileURLToPath(new URL("tsconfig.json", PAGE)),
    transform: { target: BROWSERS },
  });
  try {
    const { output } = await build.generate({ format: "esm", minify: true, comments: false, sourcemap: false });
    const [entry, ...others] = output;
    if (others.length > 0) throw new Error(`the page is more than one file: ${others[0]?.fileName}`);
    const modules = Object.keys(entry.modules);
    const ofNode = modules.find((path) => !path.includes("node_modules") && !path.startsWith(fileURLToPath(PAGE)));
    if (ofNode !== undefined) throw new Error(`the page holds code of the node: ${ofNode}`);
    const texts = new Map([["app.js", entry.code]]);
    for (const name of PLAIN_FILES) texts.set(name, await readFile(new URL(name, PAGE), "utf8"));
    return { texts, modules };
  } finally {
    await build.close();
  }
}
