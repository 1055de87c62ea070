// The doctor's check of the cluster: the files of the login and of TLS can be read, and the NATS servers accept
// connections. It does not log in. Main thread.

import { once } from "node:events";
import { open } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import type { ClusterSettings } from "../../config/cluster-settings.ts";
import { type Check, type CheckResult, within } from "./check.ts";

const CONNECT_TIMEOUT_MS = 2000;
/** More troubles than this are counted. */
const SHOWN_MAX = 5;

const SERVERS_ADVICE = "correct tonearm.cluster.servers, start the NATS servers, or let a firewall pass their port";

export interface ClusterCheckOptions {
  /** Replaced in tests. */
  readonly connect?: (port: number, host: string) => Socket;
  readonly timeoutMs?: number;
}

/** A node starts without its servers, but takes no sessions until they answer; a lost one of several is a warning. */
export function clusterCheck(settings: ClusterSettings, options: ClusterCheckOptions = {}): Check {
  return {
    name: "cluster",
    async run() {
      const troubles = await Promise.all(filesOf(settings).map(fileTrouble));
      const found = troubles.filter((trouble) => trouble !== undefined);
      if (found.length === 0) return checkServers(settings.servers, options);
      return { status: "fail", found: found.join("; "), advice: "correct the path or the permissions" };
    },
  };
}

function filesOf({ login, tls }: ClusterSettings): (readonly [string, string])[] {
  const paths = {
    credentials: login.kind === "credentials" ? login.path : undefined,
    "tls.ca": tls?.caPath,
    "tls.certificate": tls?.certificatePath,
    "tls.key": tls?.keyPath,
  };
  return Object.entries(paths).flatMap(([key, path]) => (path === undefined ? [] : [[key, path] as const]));
}

async function fileTrouble([key, path]: readonly [string, string]): Promise<string | undefined> {
  try {
    const file = await open(path);
    try {
      await file.read({ buffer: Buffer.alloc(1) });
    } finally {
      await file.close();
    }
    return undefined;
  } catch (error) {
    return `${path} of tonearm.cluster.${key} cannot be read (${codeOf(error)})`;
  }
}

async function checkServers(servers: readonly string[], options: ClusterCheckOptions): Promise<CheckResult> {
  const results = await Promise.all(servers.map((server) => serverTrouble(server, options)));
  const troubles = results.filter((trouble) => trouble !== undefined);
  const goodCount = servers.length - troubles.length;
  const good = `${goodCount} of ${servers.length} NATS servers can be reached`;
  if (troubles.length === 0) return { status: "ok", found: good };
  const more = troubles.length > SHOWN_MAX ? [`and ${troubles.length - SHOWN_MAX} more`] : [];
  const found = [good, ...troubles.slice(0, SHOWN_MAX), ...more].join("; ");
  return { status: goodCount === 0 ? "fail" : "warn", found, advice: SERVERS_ADVICE };
}

/** Undefined: it accepts connections. */
async function serverTrouble(
  server: string,
  { connect: open = connect, timeoutMs = CONNECT_TIMEOUT_MS }: ClusterCheckOptions,
): Promise<string | undefined> {
  const [, host = "", port = ""] = /^\w+:\/\/\[?(.*?)\]?:(\d+)$/.exec(server) ?? [];
  const socket = open(Number(port), host);
  try {
    await within(once(socket, "connect"), timeoutMs, "no answer");
    return undefined;
  } catch (error) {
    return `${host}:${port}: ${reasonOf(codeOf(error), timeoutMs)}`;
  } finally {
    socket.destroy();
  }
}

function reasonOf(code: string | undefined, timeoutMs: number): string {
  if (code === undefined || code === "ETIMEDOUT") return `no answer within ${timeoutMs} ms`;
  if (code === "ECONNREFUSED") return "connection refused";
  return code === "ENOTFOUND" || code === "EAI_AGAIN" ? "its name is unknown" : code;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}
