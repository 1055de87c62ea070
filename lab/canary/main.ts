// `npm run canary`: a process of its own.

import { canaryCommand } from "./command.ts";

process.exitCode = await canaryCommand(process.argv.slice(2), {
  cwd: process.cwd(),
  write: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
});
