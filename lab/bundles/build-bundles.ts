// Writes the node's programs to dist/node: the entry of each thread and of each plugin, with all its imports in one
// file, because hundreds of modules cost more memory than their contents. Modules that are imported on demand stay
// separate files. docs/decisions/build.md says why. The dashboard's page for browsers goes next to them. Needs the
// development packages; part of `npm run build`.

import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";
import { BUILTIN_PLUGINS } from "../../plugins/builtin.ts";
import { buildPage } from "./build-page.ts";
import { thirdPartyNotices } from "./third-party-notices.ts";

/** The project's folder; this file is compiled to dist/lab/bundles. */
const PROJECT = new URL(import.meta.url.endsWith(".ts") ? "../../" : "../../../", import.meta.url);
const ROOT = fileURLToPath(PROJECT);
/** Output folder of the programs, under the paths of their sources. */
const BUNDLES = new URL("dist/node/", PROJECT);
/** Written last: its presence means that the build is complete. */
const NOTICES = "third-party-notices.txt";

/** The entry files: each becomes a program, which one thread runs. */
export const ENTRIES: readonly string[] = [
  "src/main",
  "src/media/main",
  "src/media/probe-main",
  "src/media/codec-main",
  "src/media/pacer-main",
  "src/plugin-host/runtime/main",
  ...BUILTIN_PLUGINS.map(({ module }) => `plugins/${module.replace(/\.js$/, "")}`),
  "plugins/youtube/solver-main",
];
/** Native modules, or WebAssembly in a separate file: loaded from where npm has put them. */
const LEFT_OUT = [
  ...["@snazzah/davey", "@napi-rs/webcodecs", "libsodium-wrappers"],
  ...["quickjs-emscripten-core", "@jitl/quickjs-wasmfile-release-sync"],
  // Optional dependencies of `ws`, where they are installed.
  ...["bufferutil", "utf-8-validate"],
];
/** Classes that an operator's plugin must share with the node. */
const SHARED_MODULE = "src/plugin-api/plugin";

/** A file of a program. */
export interface BundleFile {
  /** Path from the folder of the programs. */
  readonly path: string;
  readonly text: string;
  readonly map: string;
  /** Paths of the modules in it, with `/`. */
  readonly modules: readonly string[];
  /** Files that are loaded together with it. */
  readonly imports: readonly string[];
}

/** The files of one program, its entry first. Throws where the text cannot be written in ASCII. */
export async function bundle(entry: string): Promise<readonly BundleFile[]> {
  const build = await rolldown({
    input: { [entry]: `${ROOT}${entry}.ts` },
    cwd: ROOT,
    platform: "node",
    external: [/^node:/, ...LEFT_OUT],
    plugins: [ownLocations(posix.dirname(entry))],
  });
  try {
    const { output } = await build.generate({
      format: "esm",
      entryFileNames: "[name].js",
      chunkFileNames: `${entry}.[name].js`,
      comments: false,
      sourcemap: true,
    });
    const chunks = output.filter((file) => file.type === "chunk");
    return chunks.toSorted((one, other) => Number(other.isEntry) - Number(one.isEntry)).map(toFile);
  } finally {
    await build.close();
  }
}

/** Builds all programs, which takes a few seconds. Files of an older build are removed last: a node may be running. */
export async function buildBundles(): Promise<void> {
  const modules = new Set<string>();
  const written = new Set<string>();
  const write = async (path: string, text: string): Promise<void> => {
    const location = new URL(path, BUNDLES);
    await mkdir(new URL(".", location), { recursive: true });
    await writeFile(location, text);
    written.add(path);
  };
  for (const entry of ENTRIES) {
    for (const file of await bundle(entry)) {
      await write(file.path, file.text);
      await write(`${file.path}.map`, file.map);
      for (const module of file.modules) modules.add(module);
    }
  }
  const page = await buildPage();
  for (const [name, text] of page.texts) await write(`dashboard/${name}`, text);
  for (const module of page.modules) modules.add(toSlashes(module));
  await write(NOTICES, await thirdPartyNotices(modules));
  for (const entry of await readdir(BUNDLES, { recursive: true, withFileTypes: true })) {
    const path = relative(fileURLToPath(BUNDLES), join(entry.parentPath, entry.name));
    if (entry.isFile() && !written.has(toSlashes(path))) await rm(new URL(toSlashes(path), BUNDLES));
  }
}

function toFile(chunk: OutputChunk): BundleFile {
  const { fileName: path, code, map, imports } = chunk;
  const modules = Object.keys(chunk.modules).map(toSlashes);
  return { path, text: inAscii(code), map: map?.toString() ?? "", modules, imports };
}

function toSlashes(path: string): string {
  return path.split(sep).join("/");
}

/**
 * Modules that look for files next to themselves must still find them: in the entry's folder these are other programs;
 * elsewhere, the output of the compiler and of the kernels' build in dist.
 */
function ownLocations(folder: string): Plugin {
  const fromFolder = (path: string): string => posix.relative(posix.join("dist/node", folder), `dist/${path}`);
  return {
    name: "own-locations",
    resolveId(source, importer) {
      if (importer === undefined || !source.endsWith("/plugin-api/plugin.ts")) return null;
      return { id: `./${fromFolder(`${SHARED_MODULE}.js`)}`, external: true };
    },
    transform(code, id) {
      const path = toSlashes(relative(ROOT, id));
      if (!path.endsWith(".ts") || posix.dirname(path) === folder || !code.includes("import.meta.url")) return null;
      const location = JSON.stringify(fromFolder(path.replace(/\.ts$/, ".js")));
      // On the same line, so that the source map stays correct.
      return { code: code.replaceAll("import.meta.url", `new URL(${location}, import.meta.url).href`), map: null };
    },
  };
}

/**
 * The same program in ASCII: with one character beyond Latin-1, V8 stores the whole file as two bytes per character.
 * Throws where an escape in its place would change the text.
 */
export function inAscii(code: string): string {
  const odd = /(?:\\|String\.raw`[^`]*)[^\0-\x7f]/.exec(code);
  if (odd !== null) throw new Error(`cannot be written in ASCII: ${odd[0].slice(0, 80)}`);
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
