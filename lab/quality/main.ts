// `npm run bench -- encoder`: how audible what an Opus encoder does to music is, against other encoders at the same
// rate; what it costs; and whether it ever makes a bad packet. docs/internals/encoder-quality.md says how. Needs
// ffmpeg.

import { encoderCommand } from "./command.ts";

process.exitCode = await encoderCommand(process.argv.slice(2), {
  program: import.meta.filename,
  write: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
});
