// `npm run bench -- NAME`, `npm run lab -- NAME` and `tonearm-lab NAME`: runs a program of the lab in this process, as if
// it had been started directly. Lab only.

import { fileURLToPath } from "node:url";
import { CannotRun } from "./cannot-run.ts";
import { chooseProgram } from "./programs.ts";

const [node = "", , command = "", ...args] = process.argv;
const choice = chooseProgram(command, args);
if ("text" in choice) {
  (choice.status === 0 ? process.stdout : process.stderr).write(choice.text);
  process.exitCode = choice.status;
} else {
  const url = new URL(`./${choice.module}.js`, import.meta.url);
  process.argv = [node, fileURLToPath(url), ...choice.args];
  try {
    await import(url.href);
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  }
}
