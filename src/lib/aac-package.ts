// The optional package that decodes AAC: its name, and whether this installation has it. Any thread.

import { readdirSync } from "node:fs";

/** A constant and not a literal in the import: the compiler must not insist on an optional package. */
export const AAC_PACKAGE: string = "@napi-rs/webcodecs";

/** What a package's library is made for; the names are Node.js's. */
type Machine = Pick<NodeJS.Process, "platform" | "arch">;

/**
 * Whether the package and a library of it for this platform are installed. It is not loaded. `resolve`: the address of
 * a package's entry; throws for a package that is missing.
 */
export function isAacInstalled(
  resolve: (name: string) => string = (name) => import.meta.resolve(name),
  { platform, arch }: Machine = process,
): boolean {
  try {
    // npm installs the library beside it, as a package named for the platform, and on Linux the C library (the one in
    // use: npm leaves out the others).
    const name = `webcodecs-${platform}-${arch}`;
    const beside = readdirSync(new URL("..", resolve(AAC_PACKAGE)));
    return beside.some((found) => found === name || found.startsWith(`${name}-`));
  } catch {
    return false;
  }
}
