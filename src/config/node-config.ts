// The configuration as the rest of the node sees it: the values of the keys (keys/), completed by rules that need more
// than one key or the machine, and deeply frozen. It is not checked again later. Main thread, at start.

import { isAbsolute, join, resolve } from "node:path";
import type { Random } from "../lib/random.ts";
import { checkedCluster } from "./cluster-rules.ts";
import type { DeepReadonly, KeyValues } from "./keys/all-keys.ts";
import { Secret } from "./keys/secret.ts";
import { DEFAULT_ROOTS } from "./keys/sources.ts";
import { completedPlugins } from "./plugin-rules.ts";
import { checkedRoutePlanner } from "./route-planner-rules.ts";
import { checkedTls } from "./tls-rules.ts";

/** Keys that need no completion are included as keys/ defines them. */
export type NodeConfig = DeepReadonly<ReturnType<typeof completeConfig>>;

/** The values of `lavalink.server.ratelimit.strategy`. */
export type RoutePlannerStrategy = NodeConfig["routePlanner"]["strategy"];

/** `logging.request.*` of application.yml. */
export type RequestLogging = NonNullable<NodeConfig["logging"]["requests"]>;

/** Shorter passwords can be guessed. */
const PASSWORD_LENGTH_MIN = 8;
/** The password in all examples of Lavalink, known to everybody. */
const WELL_KNOWN_PASSWORD = "youshallnotpass";
const GENERATED_PASSWORD_BYTES = 18;
const STATE_FOLDER = "state";

interface ConfigContext {
  readonly cwd: string;
  /** Where a service manager lets the node store files; undefined without one. */
  readonly stateDirectory: string | undefined;
  readonly coreCount: number;
  readonly hostName: string;
  readonly random: Random;
  /** The path without symbolic links, or undefined when it does not exist. */
  readonly realPath: (path: string) => string | undefined;
  warn(message: string): void;
  note(message: string): void;
  /** Reports a mistake of `key` that stops the start, together with others. */
  reject(key: string, message: string): void;
}

/** Completes the checked values, and makes the checks that need more than one of them. */
export function completeConfig({ proxy, timeouts, ...values }: KeyValues, context: ConfigContext) {
  const config = {
    ...values,
    server: serverOf(values.server, context),
    workers: { ...values.workers, count: values.workers.count || context.coreCount },
    plugins: completedPlugins(values.plugins, context),
    local: {
      /** Absolute real paths below which the local source may read. */
      roots: rootsOf(values.local.roots, { isSourceOn: values.sources.local, context }),
    },
    /** Outgoing HTTP. */
    http: {
      ...timeouts,
      /** Proxy as a URL with its user and password, or undefined. */
      proxyUrl: proxyUrlOf(proxy),
    },
    routePlanner: checkedRoutePlanner(values.routePlanner, context),
    opusCache: {
      ...values.opusCache,
      /** Absolute. Undefined: there is no cache. */
      path: values.opusCache.path === "" ? undefined : resolve(context.cwd, values.opusCache.path),
    },
    state: {
      ...values.state,
      /** Absolute. */
      path: resolve(context.cwd, values.state.path || join(context.stateDirectory ?? "", STATE_FOLDER)),
    },
    /** Undefined: this node is alone. */
    cluster: checkedCluster(values.cluster, values.state, context),
  };
  warnAboutOpenAccess(config, context);
  if (config.routePlanner.ipBlocks.length > 0 && config.http.proxyUrl !== undefined) {
    context.warn("lavalink.server.ratelimit: requests leave from the proxy, not from these blocks");
  }
  return config;
}

/** True when other machines may be able to connect to it. */
export function isReachableAddress(address: string): boolean {
  return !(/^127\./.test(address) || address === "::1" || address.toLowerCase() === "localhost");
}

function serverOf(
  { password, isPasswordRequired, keysPath, tls, ...values }: KeyValues["server"],
  context: ConfigContext,
) {
  const { random, cwd, reject } = context;
  if (isPasswordRequired && password === undefined) {
    const message = "is not set, and tonearm.requirePassword requires it (variable LAVALINK_SERVER_PASSWORD)";
    reject("lavalink.server.password", message);
  }
  const generated = (): Secret => new Secret(Buffer.from(random.bytes(GENERATED_PASSWORD_BYTES)).toString("base64url"));
  return {
    ...values,
    /** Undefined: HTTP. */
    tls: checkedTls(tls, context),
    /** Absolute path; undefined: only the password grants access. */
    keysPath: keysPath.trim() === "" ? undefined : resolve(cwd, keysPath.trim()),
    password: password ?? generated(),
    /** True when no password is configured: the generated one has to be shown once. */
    isPasswordGenerated: password === undefined,
  };
}

function rootsOf(
  paths: readonly string[],
  options: { readonly isSourceOn: boolean; readonly context: ConfigContext },
): string[] {
  const { isSourceOn, context } = options;
  if (isSourceOn) warnOfRoots(paths, context);
  return paths.flatMap((path) => {
    const absolute = isAbsolute(path) ? path : resolve(context.cwd, path);
    const real = context.realPath(absolute);
    if (real === undefined && isSourceOn)
      context.warn(`tonearm.local.roots: there is no folder ${path}; leaving it out`);
    return real === undefined ? [] : [real];
  });
}

/** Lavalink plays every file of the machine, so files that it played are usually elsewhere. */
function warnOfRoots(paths: readonly string[], { cwd, warn }: ConfigContext): void {
  const advice = "name the folders with your files there";
  if (paths === DEFAULT_ROOTS) {
    const reason = `tonearm.local.roots is not set: only files below ${cwd}, where the node was started, can be played`;
    warn(`lavalink.server.sources.local is true, but ${reason}; ${advice}`);
  }
  if (paths.length > 0) return;
  warn(`lavalink.server.sources.local is true, but tonearm.local.roots is empty: no file can be played; ${advice}`);
}

function proxyUrlOf(proxy: KeyValues["proxy"]): Secret | undefined {
  if (proxy.host === "") return undefined;
  const host = proxy.host.includes(":") ? `[${proxy.host}]` : proxy.host;
  const password = encodeURIComponent(proxy.password?.reveal() ?? "");
  const user = proxy.user === "" ? "" : `${encodeURIComponent(proxy.user)}:${password}@`;
  return new Secret(`http://${user}${host}:${proxy.port}`);
}

function warnAboutOpenAccess(config: Pick<NodeConfig, "server" | "voice" | "dashboard">, context: ConfigContext): void {
  const { address, password } = config.server;
  if (isReachableAddress(address) && password.reveal() === WELL_KNOWN_PASSWORD) {
    context.warn(
      `THE PASSWORD IS "${WELL_KNOWN_PASSWORD}", WHICH EVERYBODY KNOWS, AND THE NODE LISTENS ON ${address}. ` +
        "Anybody who can connect can use the node. Set lavalink.server.password (LAVALINK_SERVER_PASSWORD) to one of " +
        "your own.",
    );
  }
  const passwords: readonly (readonly [string, Secret | undefined])[] = [
    ["lavalink.server.password", password],
    ["tonearm.dashboard.password", config.dashboard.operatorPassword],
    ["tonearm.dashboard.viewerPassword", config.dashboard.viewerPassword],
  ];
  for (const [key, secret] of passwords) {
    const isShort = secret !== undefined && [...secret.reveal()].length < PASSWORD_LENGTH_MIN;
    if (!isReachableAddress(address) || !isShort) continue;
    context.warn(
      `${key} has fewer than ${PASSWORD_LENGTH_MIN} characters and can be guessed, and the node listens on ` +
        `${address}: set a longer one`,
    );
  }
  if (config.voice.gatewayScheme === "ws") {
    context.warn(
      "tonearm.voice.gatewayScheme is ws: connections to voice gateways are not encrypted. For test servers only.",
    );
  }
}
