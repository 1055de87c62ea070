// `tonearm start`: loads the configuration, starts the logger and the node, waits for a signal, and closes everything
// in order and in time. Main thread.

import { type LoadedConfig, loadConfig } from "../config/load-config.ts";
import { isReachableAddress, type NodeConfig } from "../config/node-config.ts";
import { isStartedByNpm, takeServiceManager } from "../config/service-variables.ts";
import { systemClock } from "../lib/clock.ts";
import type { LogFields, Logger } from "../log/log.ts";
import { createNodeLogger } from "../log/log-pino.ts";
import { LogRing } from "../log/log-ring.ts";
import { createNode, type Node } from "../node.ts";
import { VERSION } from "../version.ts";
import { reportDave } from "./dave-report.ts";
import { watchNpmParent } from "./npm-parent.ts";
import type { ServiceNotifier } from "./service-notifier.ts";

/** Above the node's own limit for closing the connections to clients, workers and Discord. */
const CLOSE_TIMEOUT_MS = 12_000;
/** Players of a cluster go on elsewhere within this time. Docker kills after 10 s, with what is closed after it. */
const DRAIN_MS_MAX = 7000;
const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** The process environment of the command. */
export interface StartContext {
  readonly cwd: string;
  /** Standard output: log lines, and a generated password. */
  write(text: string): void;
  /**
   * Calls back with the number of dropped texts when standard output can be written again. Undefined: texts are never
   * lost.
   */
  readonly reportDropped?: (report: (droppedCount: number) => void) => void;
}

/** Runs until a signal arrives, or npm, which started it, has ended. Resolves with the exit status. */
export async function startCommand(args: readonly string[], context: StartContext): Promise<number> {
  const loaded = loadConfig({ args, cwd: context.cwd });
  const { config } = loaded;
  const { level, format } = config.logging;
  const logRing = new LogRing();
  const logger = createNodeLogger({ level, format, stream: context, ring: logRing });
  context.reportDropped?.((count) => logger.error("stdout blocked: log lines dropped", { count }));
  exitOnUncaught(logger);
  logger.info(`Tonearm ${VERSION} on Node.js ${process.versions.node}`, { config: loaded.fileName ?? "defaults" });
  for (const warning of loaded.warnings) logger.warn(warning);
  for (const note of loaded.notes) logger.info(note);

  const stopping = nextStop();
  const notifier = await createNotifier(logger);
  const node = await createNode(config, { logger, logRing, shownConfig: loaded.shown });
  // At every level: panels and the operator's scripts wait for this line.
  announce(node, loaded, {
    logger: createNodeLogger({ level: "info", format, stream: context, ring: logRing }),
    context,
  });
  notifier?.ready(`listening on ${urlOf(node, config)}`);
  // After it listens: loading the library takes some time.
  void reportDave(logger);
  const reason = await stopping;
  notifier?.stopping();
  const status = await closeNode(node, logger, reason);
  notifier?.close();
  return status;
}

/** Undefined without a service manager. Called before anything is started that would inherit its variables. */
async function createNotifier(logger: Logger): Promise<ServiceNotifier | undefined> {
  const manager = takeServiceManager();
  if (manager === undefined) return undefined;
  const { ServiceNotifier } = await import("./service-notifier.ts");
  return new ServiceNotifier({ manager, clock: systemClock, logger });
}

function urlOf({ address: { host, port } }: Node, { server }: NodeConfig): string {
  return `${server.tls === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function announce(
  node: Node,
  { config }: LoadedConfig,
  { logger, context }: { readonly logger: Logger; readonly context: StartContext },
): void {
  const reach = isReachableAddress(config.server.address) ? "" : " (for this machine only, see server.address)";
  logger.info(`listening on ${urlOf(node, config)}${reach}`, { workers: config.workers.count });
  if (!config.server.isPasswordGenerated) return;
  // Not logged, because log lines are stored and this is for the person at the terminal.
  context.write(
    `\n    The password for clients is  ${config.server.password.reveal()}\n` +
      "    It was generated for this start and is shown only here. Set your own as lavalink.server.password\n" +
      "    or LAVALINK_SERVER_PASSWORD.\n\n",
  );
}

async function closeNode(node: Node, logger: Logger, reason: LogFields): Promise<number> {
  logger.info("closing", reason);
  for (const again of SIGNALS) process.once(again, () => process.exit(1));
  await node.drain(DRAIN_MS_MAX);
  const timeout = setTimeout(() => {
    logger.error("closing took too long: exiting with open connections", { timeoutMs: CLOSE_TIMEOUT_MS });
    process.exit(1);
  }, CLOSE_TIMEOUT_MS);
  await node.close();
  // The timer still bounds resources that were left open by mistake, but does not keep the process alive.
  timeout.unref();
  logger.info("closed");
  for (const name of SIGNALS) process.removeAllListeners(name);
  return 0;
}

/** Listens from the call on, so that a signal during the start is not lost. */
function nextStop(): Promise<LogFields> {
  return new Promise((resolve) => {
    for (const name of SIGNALS) process.once(name, (signal) => resolve({ signal }));
    if (!isStartedByNpm()) return;
    watchNpmParent({ parentId: () => process.ppid, clock: systemClock }, () => resolve({ reason: "npm ended" }));
  });
}

/**
 * Exits on an uncaught error: the process is in an unknown state, so it logs the error and leaves the restart to the
 * service manager.
 */
function exitOnUncaught(logger: Logger): void {
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (error: unknown) => {
      logger.error("uncaught error: the node exits; please report it", { error });
      process.exit(1);
    });
  }
}
