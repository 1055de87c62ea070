// `npm run bench -- encoder`: how audible the artefacts of an Opus encoder are in music, compared with other encoders
// at the same rate; its cost; and whether it ever makes a bad packet. docs/quality.md says how. Needs
// ffmpeg.

import { encoderCommand } from "./command.ts";

process.exitCode = await encoderCommand(process.argv.slice(2), {
  program: import.meta.filename,
  write: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
});
