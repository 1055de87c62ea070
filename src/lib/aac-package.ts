// The optional package that decodes AAC: its name, and whether this installation has it. Any thread.

import { readdirSync } from "node:fs";

/** A constant and not a literal in the import: the compiler must not insist on an optional package. */
export const AAC_PACKAGE: string = "@napi-rs/webcodecs";

/**
 * Whether the package and a library of it for this platform are installed. It is not loaded. `resolve`: the address of
 * a package's entry; throws for a package that is missing.
 */
export function isAacInstalled(resolve: (name: string) => string = (name) => import.meta.resolve(name)): boolean {
  try {
    // npm installs the library beside it, as a package named for the platform.
    const beside = readdirSync(new URL("..", resolve(AAC_PACKAGE)));
    return beside.some((name) => name.startsWith("webcodecs-"));
  } catch {
    return false;
  }
}
