// Process entry: the `tonearm` command. Chooses the command and turns failures into an exit status.

import { runCommand } from "./cli/run-command.ts";
import { StandardOutput } from "./log/standard-output.ts";

const errors = new StandardOutput(process.stderr);
const output = new StandardOutput(process.stdout, (reason) => {
  errors.write(
    `tonearm: standard output blocked (${reason}): the node keeps running, log lines are dropped until it recovers\n`,
  );
});

process.exitCode = await runCommand(process.argv.slice(2), {
  cwd: process.cwd(),
  write: (text) => output.write(text),
  writeError: (text) => errors.write(text),
  reportDropped: (report) => output.reportDropped(report),
});
for (const stream of [output, errors]) stream.end(() => process.exit());
