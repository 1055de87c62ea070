// lavalink-rs from crates.io, unmodified; cargo compiles its driver first.

import { execFileSync, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { RealClient } from "../../../integration/clients/client-driver.ts";
import { ProcessDriver } from "../../../integration/clients/process-driver.ts";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const PROGRAM = `${FOLDER}target/debug/rust-client`;

/** Needs cargo and crates.io. */
export const hasCargo = spawnSync("cargo", ["--version"]).status === 0;

export function compileRustClient(): void {
  execFileSync("cargo", ["build", "--quiet", "--locked", "--manifest-path", `${FOLDER}Cargo.toml`]);
}

export const rustClient: RealClient = {
  name: "lavalink-rs",
  afterDrop: "resumes",
  create: (binding) => new ProcessDriver({ command: PROGRAM, args: [] }, binding),
};
