// The optional package that decodes AAC: its name, and whether this installation has it. Any thread.

import { readdirSync, readFileSync } from "node:fs";

/** A constant and not a literal in the import: the compiler must not insist on an optional package. */
export const AAC_PACKAGE: string = "@napi-rs/webcodecs";

/** What a package's library is made for; the names are Node.js's. */
interface Machine extends Pick<NodeJS.Process, "platform" | "arch"> {
  /** The process's files in memory, as Linux lists them in /proc/self/maps; "": unknown. */
  readonly maps: string;
}

/** The C library of a process by its file, and the ends of the names of packages made for it. */
const C_LIBRARIES = [
  { file: /\/libc(?:-2\.\d+\.so|\.so\.6)(?: |$)/m, suffix: "gnu" },
  { file: /\/(?:ld-musl-[^/\s]+|libc\.so)(?: |$)/m, suffix: "musl" },
];

/**
 * Whether the package and a library of it for this platform are installed. It is not loaded. `resolve`: the address of
 * a package's entry; throws for a package that is missing.
 */
export function isAacInstalled(
  resolve: (name: string) => string = (name) => import.meta.resolve(name),
  { platform, arch, maps }: Machine = thisMachine(),
): boolean {
  try {
    // npm installs the library beside it, as a package named for the platform, and on Linux the C library. A folder that
    // was copied from another system has that of the other.
    const name = `webcodecs-${platform}-${arch}`;
    const suffix = C_LIBRARIES.find(({ file }) => file.test(maps))?.suffix ?? "";
    const beside = readdirSync(new URL("..", resolve(AAC_PACKAGE)));
    return beside.some((found) => found === name || found.startsWith(`${name}-${suffix}`));
  } catch {
    return false;
  }
}

function thisMachine(): Machine {
  const { platform, arch } = process;
  return { platform, arch, maps: platform === "linux" ? mapsOfProcess() : "" };
}

function mapsOfProcess(): string {
  try {
    return readFileSync("/proc/self/maps", "utf8");
  } catch {
    return "";
  }
}
