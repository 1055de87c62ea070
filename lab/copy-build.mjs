// Before `npm pack --workspace lab`: copies the compiled modules of the checkout's build into this folder, so that every
// path between two files stays the same; afterwards, with `--remove`, removes the copy. The node's bundles and the
// programs that build it are not copied.

import { cpSync, existsSync, readdirSync, rmSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL("./", import.meta.url));
const CHECKOUT = fileURLToPath(new URL("../", import.meta.url));
/** The last file that the build writes. */
const BUILT = "dist/node/third-party-notices.txt";
/** Folders of the sources, and of what is compiled from them. */
const FOLDERS = ["lab", "opus-encoder/lab", "opus-encoder/src", "src", "plugins"];
const BUILD_TOOLS = /^lab\/(?:bundles|kernels)\//;
/** Read by lab/media-files/codec-packets.ts. */
const CODECS = ["aac", "alac", "flac", "mp3", "vorbis"];

for (const path of ["dist", "LICENSE"]) rmSync(join(HERE, path), { recursive: true, force: true });
if (!process.argv.includes("--remove")) {
  if (!existsSync(join(CHECKOUT, BUILT))) {
    process.stderr.write("the checkout has not been built: run `npm run build` in its folder first\n");
    process.exit(1);
  }
  for (const path of FOLDERS.flatMap(builtFiles)) copy(`dist/${path}`);
  for (const codec of CODECS) copy(`test/fixtures/codec-${codec}.json`, `dist/lab/media-files/codec-${codec}.json`);
  copy("LICENSE");
}

/**
 * Paths from dist of the modules and kernels of a folder; not those that an older build has left there.
 *
 * @param {string} folder
 */
function builtFiles(folder) {
  const paths = readdirSync(join(CHECKOUT, "dist", folder), { recursive: true, encoding: "utf8" }).map(
    (path) => `${folder}/${path.split(sep).join("/")}`,
  );
  return paths.filter((path) => {
    if (path.endsWith(".wasm") || path.endsWith(".tables")) return true;
    const source = join(CHECKOUT, path.replace(/\.js$/, ".ts"));
    return path.endsWith(".js") && !BUILD_TOOLS.test(path) && existsSync(source);
  });
}

/**
 * @param {string} path from the checkout's folder
 * @param {string} [to] from this folder
 */
function copy(path, to = path) {
  cpSync(join(CHECKOUT, path), join(HERE, to));
}
