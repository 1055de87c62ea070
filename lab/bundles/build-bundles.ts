// Writes the node's programs to dist/node: the entry of each thread and of each plugin, with all that it imports in a
// few files, as modules by the hundred cost more memory than what is in them. What several threads import is there
// once, and what is imported when it is needed stays a separate file. docs/decisions/build.md says why. Beside them
// goes the dashboard's page, for browsers. Needs the development packages; part of `npm run build`.

import { readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";
import { BUILTIN_PLUGINS } from "../../plugins/builtin.ts";
import { buildEncoderLab } from "./build-encoder-lab.ts";
import { buildPage } from "./build-page.ts";
import { thirdPartyNotices } from "./third-party-notices.ts";

/** The project's folder; this file is compiled to dist/lab/bundles. */
const PROJECT = new URL(import.meta.url.endsWith(".ts") ? "../../" : "../../../", import.meta.url);
const ROOT = fileURLToPath(PROJECT);
/** Output folder of the programs, under the paths of their sources. */
const BUNDLES = new URL("dist/node/", PROJECT);
/** The package of the Opus encoder, which the programs contain; its WebAssembly is a file beside them. */
const ENCODER = new URL("opus-encoder/", PROJECT);
const ENCODER_FILE = "opus-encoder/opus-encoder.wasm";
/** Written last: its presence means that the build is complete. */
const NOTICES = "third-party-notices.txt";

/**
 * The entries that are built together: threads that share large parts (HTTP client, containers). Other programs are
 * built alone: small ones and plugins stay one file, and a main thread that reads more than 20 files at its start takes
 * 3.5 MB more.
 */
export const PROGRAMS: readonly (readonly string[])[] = [
  ["src/media/main", "src/media/probe-main", "src/plugin-host/runtime/main"],
  ["src/main"],
  ["src/media/codec-main"],
  ["src/media/pacer-main"],
  ...BUILTIN_PLUGINS.map(({ module }) => [`plugins/${module.replace(/\.js$/, "")}`]),
  ["plugins/youtube/solver-main"],
];
/**
 * Small modules that many of the programs' parts import, which would otherwise be a file for each set of them. Larger
 * ones, packages, and what few import get their files by who imports them.
 */
const SHARED_FILES = [
  // What an audio thread loads before a client connects.
  { name: "thread", test: /\/src\/(?:bridge\/(?:thread-start|heartbeat)|lib\/clock)\.ts$/, priority: 1 },
  { name: "base", test: /\/src\/(?:(?:lib|log|bridge|network)\/)?[\w-]+\.ts$/, minShareCount: 3 },
  { name: "input", test: /\/src\/media\/(?:quota|input)\//, minShareCount: 3 },
  { name: "decode", test: /\/src\/media\/(?:decode|format|kernels|opus)\//, minShareCount: 3 },
].map(({ test, ...group }) => ({
  maxModuleSize: 12_000,
  ...group,
  // Parts of Node.js that only one of the importers needs would cost the others time and memory.
  test: (id: string) => test.test(toSlashes(id)) && !readFileSync(id, "utf8").includes('from "node:'),
}));
/** Native, or WebAssembly in a separate file, or optional: found where npm has put it. */
const LEFT_OUT = [
  ...["@snazzah/davey", "classic-level", "libsodium-wrappers"],
  // Loaded only in a cluster.
  "@nats-io/transport-node",
  ...["quickjs-emscripten-core", "@jitl/quickjs-wasmfile-release-sync"],
  // Optional dependencies of `ws`, where they are installed.
  ...["bufferutil", "utf-8-validate"],
];
/** Classes that an operator's plugin must share with the node. */
const SHARED_MODULE = "src/plugin-api/plugin";

/** Begins a path from dist, until it is known in which file it is read. */
const LOCATION = "tonearm-dist:";

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

/** The files of programs that are built together, entries first. Throws where the text is not to be had in ASCII. */
export async function bundle(entries: readonly string[]): Promise<readonly BundleFile[]> {
  const build = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry, `${ROOT}${entry}.ts`])),
    cwd: ROOT,
    platform: "node",
    external: [/^node:/, ...LEFT_OUT],
    // Workspaces are bundled from their sources, not from their build. Adds to the default conditions.
    resolve: { conditionNames: ["tonearm-source"] },
    plugins: [ownLocations(entries)],
  });
  try {
    const { output } = await build.generate({
      format: "esm",
      entryFileNames: "[name].js",
      ...(entries.length > 1
        ? { chunkFileNames: "shared/[name].js", codeSplitting: { groups: SHARED_FILES } }
        : { chunkFileNames: `${entries[0]}.[name].js` }),
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
  const write = async (path: string, text: string | Uint8Array): Promise<void> => {
    const location = new URL(path, BUNDLES);
    await mkdir(new URL(".", location), { recursive: true });
    await writeFile(location, text);
    written.add(path);
  };
  for (const entries of PROGRAMS) {
    for (const file of await bundle(entries)) {
      await write(file.path, file.text);
      await write(`${file.path}.map`, file.map);
      for (const module of file.modules) modules.add(module);
    }
  }
  await write(ENCODER_FILE, await readFile(new URL("dist/opus-encoder.wasm", ENCODER)));
  await buildEncoderLab();
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
  return { path, text: inAscii(withLocations(path, code)), map: map?.toString() ?? "", modules, imports };
}

function toSlashes(path: string): string {
  return path.split(sep).join("/");
}

/**
 * Code that looks for files beside itself still finds them, in whichever file it ends up. A module that lies in the
 * folder of an entry is told the location of that entry, beside which the other programs are; a module of the encoder, the
 * folder of its WebAssembly; any other module, what the compiler and the kernels' build have written to dist.
 */
function ownLocations(entries: readonly string[]): Plugin {
  const entryIn = (folder: string): string | undefined => entries.find((entry) => posix.dirname(entry) === folder);
  return {
    name: "own-locations",
    resolveId(source, importer) {
      if (importer === undefined || !source.endsWith("/plugin-api/plugin.ts")) return null;
      return { id: `${LOCATION}${SHARED_MODULE}.js`, external: true };
    },
    transform(code, id) {
      const path = toSlashes(relative(ROOT, id));
      if (!path.endsWith(".ts") || !code.includes("import.meta.url")) return null;
      const entry = entryIn(posix.dirname(path));
      const inBundles =
        entry ?? (path.startsWith("opus-encoder/src/") ? ENCODER_FILE.replace(/\.wasm$/, "") : undefined);
      const location = `${LOCATION}${inBundles === undefined ? path.replace(/\.ts$/, "") : `node/${inBundles}`}.js`;
      // On the same line: the source map stays true.
      return { code: code.replaceAll("import.meta.url", `new URL("${location}", import.meta.url).href`), map: null };
    },
  };
}

/** The text of a file with each location in dist as seen from the file. */
function withLocations(file: string, code: string): string {
  return code.replaceAll(new RegExp(`"${LOCATION}([^"]+)"`, "g"), (_, location: string) => {
    const path = posix.relative(posix.join("node", posix.dirname(file)), location);
    return JSON.stringify(path.startsWith("../") ? path : `./${path}`);
  });
}

/**
 * The same program: one character beyond Latin-1, and V8 keeps the whole file in two bytes a character. Throws where a
 * number in its place would mean another text.
 */
export function inAscii(code: string): string {
  const odd = /(?:\\|String\.raw`[^`]*)[^\0-\x7f]/.exec(code);
  if (odd !== null) throw new Error(`cannot be written in ASCII: ${odd[0].slice(0, 80)}`);
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
