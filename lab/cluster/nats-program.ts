// Finds the program nats-server on this machine: $NATS_SERVER, the search path, or where `go install` puts it. Lab only.

import { execFileSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { CannotRun } from "../cannot-run.ts";

const NAME = "nats-server";
const INSTALL = "go install github.com/nats-io/nats-server/v2@v2.14.8";

/** Its path; undefined when there is none. */
export function findNatsServer(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const { NATS_SERVER: chosen, PATH = "" } = environment;
  if (chosen !== undefined && chosen !== "") return chosen;
  const inPath = PATH.split(delimiter).filter((folder) => folder !== "");
  return [...inPath, ...goFolders(environment)].map((folder) => join(folder, NAME)).find(isProgram);
}

/** Throws `CannotRun` when there is none. */
export function natsServerProgram(): string {
  const found = findNatsServer();
  if (found !== undefined) return found;
  throw new CannotRun(`this program needs ${NAME}: run \`${INSTALL}\`, or set NATS_SERVER to its path`);
}

function goFolders(environment: NodeJS.ProcessEnv): readonly string[] {
  try {
    const paths = execFileSync("go", ["env", "GOPATH"], { env: environment, encoding: "utf8", stdio: "pipe" })
      .trim()
      .split(delimiter);
    return paths.filter((path) => path !== "").map((path) => join(path, "bin"));
  } catch {
    return []; // Go is not installed
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
