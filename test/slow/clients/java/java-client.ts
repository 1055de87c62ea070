// The official client for Java from Maven Central, unmodified; Maven compiles its driver first.

import { execFileSync, spawnSync } from "node:child_process";
import { delimiter } from "node:path";
import { fileURLToPath } from "node:url";
import type { RealClient } from "../../../integration/clients/client-driver.ts";
import { ProcessDriver } from "../../../integration/clients/process-driver.ts";

const CLASS_PATH = ["target/classes/", "target/dependency/*"]
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .join(delimiter);
const POM = fileURLToPath(new URL("pom.xml", import.meta.url));

/** Needs a JDK, Maven and Maven Central. */
export const hasMaven = ["javac", "mvn"].every((tool) => spawnSync(tool, ["--version"]).status === 0);

export function compileJavaClient(): void {
  execFileSync("mvn", ["--quiet", "--batch-mode", "--file", POM, "process-classes"]);
}

export const javaClient: RealClient = {
  name: "dev.arbjerg:lavalink-client",
  afterDrop: "resumes",
  create: (binding) => new ProcessDriver({ command: "java", args: ["-cp", CLASS_PATH, "JavaClient"] }, binding),
};
