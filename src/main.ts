// Process entry: what `tonearm` on the command line runs. Chooses the command and turns failures into an exit status.

import { runCommand } from "./cli/run-command.ts";

process.exitCode = await runCommand(process.argv.slice(2), {
  cwd: process.cwd(),
  write: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
});
