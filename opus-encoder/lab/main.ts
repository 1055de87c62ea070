// `npm run bench -- encoder`: how audible the artefacts of an Opus encoder are in music, compared with other encoders
// at the same rate; its cost; and whether it ever makes a bad packet. docs/quality.md says how. Needs
// ffmpeg for music.

import { existsSync } from "node:fs";
import { typedCommand } from "../../lab/programs.ts";
import { encoderCommand } from "./command.ts";

/** Only as one file in the encoder's package is this beside its command. */
const IS_PACKAGE = existsSync(new URL("../../bin/opus-encoder-lab.js", import.meta.url));

process.exitCode = await encoderCommand(process.argv.slice(2), {
  command: IS_PACKAGE ? "opus-encoder-lab" : typedCommand("encoder"),
  program: import.meta.filename,
  write: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
});
