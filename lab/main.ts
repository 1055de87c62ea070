// `npm run bench -- NAME` and `npm run lab -- NAME`: runs a program of the lab in this process, as if it had been
// started directly. Lab only.

import { fileURLToPath } from "node:url";
import { chooseProgram } from "./programs.ts";

const [node = "", , script = "", ...args] = process.argv;
const choice = chooseProgram(script, args);
if ("text" in choice) {
  (choice.status === 0 ? process.stdout : process.stderr).write(choice.text);
  process.exitCode = choice.status;
} else {
  const url = new URL(`./${choice.module}.js`, import.meta.url);
  process.argv = [node, fileURLToPath(url), ...choice.args];
  await import(url.href);
}
