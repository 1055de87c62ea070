// Writes the lab of the Opus encoder into the encoder's package, as one file with what it uses of the node and of the
// lab: a program that runs where only the package is installed. Needs the development packages; part of
// `npm run build`.

import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

/** The encoder's package; this file is compiled to dist/lab/bundles. */
const ENCODER = new URL(
  import.meta.url.endsWith(".ts") ? "../../opus-encoder/" : "../../../opus-encoder/",
  import.meta.url,
);

/** Builds the file, which takes a tenth of a second. */
export async function buildEncoderLab(): Promise<void> {
  const build = await rolldown({
    input: fileURLToPath(new URL("lab/main.ts", ENCODER)),
    platform: "node",
    // All packages, the encoder itself among them. An absolute path may begin with a letter: that of a drive.
    external: (id) => !id.startsWith(".") && !isAbsolute(id),
  });
  try {
    await build.write({
      file: fileURLToPath(new URL("dist/lab/main.js", ENCODER)),
      format: "esm",
      comments: false,
    });
  } finally {
    await build.close();
  }
}
