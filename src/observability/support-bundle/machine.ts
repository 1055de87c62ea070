// The machine of a node, as far as it matters for audio and for bugs: programs and their versions, hardware, and the
// limits of a container. Read on request. Main thread.

import { execFile } from "node:child_process";
import { readdir, readFile, stat } from "node:fs/promises";
import { availableParallelism, cpus, freemem, loadavg, release, totalmem } from "node:os";
import { promisify } from "node:util";
import { type BuildInfo, readBuildInfo } from "../../build-info.ts";
import { containerAround, nodeOptionsAround } from "../../config/process-environment.ts";
import { programEnvironment } from "../../lib/program-environment.ts";
import { VERSION } from "../../version.ts";

const PROGRAM_TIMEOUT_MS = 2000;
const MEGABYTE = 1024 * 1024;

/** `name: value`, line by line. Never rejects: what cannot be found out is unknown. */
export async function describeMachine(): Promise<string> {
  const [build, system, libc, container, limits] = await Promise.all([
    readBuildInfo(),
    systemName(),
    libcName(),
    containerName(),
    containerLimits(),
  ]);
  const { node, v8, openssl, uv } = process.versions;
  const facts = {
    tonearm: `${VERSION}, ${describeBuild(build)}`,
    "Node.js": `${node} (V8 ${v8}, OpenSSL ${openssl}, libuv ${uv})`,
    "Node.js options": [...process.execArgv, nodeOptionsAround()].join(" ").trim() || "none",
    system: `${process.platform} ${release()} ${process.arch}, ${system}`,
    libc,
    processor: `${cpus()[0]?.model.trim() || "unknown"}, ${cpus().length} cores, ${availableParallelism()} for Node.js`,
    "load average": loadavg()
      .map((load) => load.toFixed(2))
      .join(" "),
    memory: `${megabytes(totalmem())}, ${megabytes(freemem())} of it free`,
    container: container ?? "none found",
    "limits of the container": limits,
  };
  return Object.entries(facts)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}

function describeBuild({ buildTimeMs, git }: BuildInfo): string {
  const built = buildTimeMs < 0 ? "built at an unknown time" : `built ${new Date(buildTimeMs).toISOString()}`;
  return git.commit === "" ? built : `${built}, commit ${git.commit} of ${git.branch}`;
}

async function systemName(): Promise<string> {
  const text = await readOr("/etc/os-release");
  return /^PRETTY_NAME="?([^"\n]+)/m.exec(text)?.[1] ?? "unknown";
}

/** Which of the two a binary package has to fit. */
async function libcName(): Promise<string> {
  if (process.platform !== "linux") return "not of Linux";
  try {
    const options = { timeout: PROGRAM_TIMEOUT_MS, env: programEnvironment() };
    const { stdout } = await promisify(execFile)("getconf", ["GNU_LIBC_VERSION"], options);
    return stdout.trim();
  } catch {
    // No such program, or a libc that does not know the question.
    const libraries = await readdir("/lib").catch(() => []);
    return libraries.some((name) => name.startsWith("ld-musl")) ? "musl" : "unknown";
  }
}

async function containerName(): Promise<string | undefined> {
  const containerKind = containerAround();
  if (containerKind !== undefined) return containerKind;
  if (await isThere("/.dockerenv")) return "Docker";
  if (await isThere("/run/.containerenv")) return "Podman";
  return /docker|containerd|kubepods|lxc|libpod/.exec(await readOr("/proc/1/cgroup"))?.[0];
}

/** Limits of Linux control groups, version 2. */
async function containerLimits(): Promise<string> {
  const [memory, processor] = await Promise.all([
    readOr("/sys/fs/cgroup/memory.max"),
    readOr("/sys/fs/cgroup/cpu.max"),
  ]);
  const [quota = "max", period = "0"] = processor.trim().split(" ");
  const bytes = Number(memory);
  return [
    memory === "" || Number.isNaN(bytes) ? "no limit of memory" : megabytes(bytes),
    quota === "max" || processor === "" ? "no limit of processor time" : `${Number(quota) / Number(period)} cores`,
  ].join(", ");
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / MEGABYTE)} MiB`;
}

async function readOr(path: string, otherwise = ""): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch {
    // Another system, or not ours to see.
    return otherwise;
  }
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
