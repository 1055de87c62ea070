// The YouTube plugin against its fake site, with its solver in this thread: the same session, but without a thread.

import { setImmediate as nextIteration } from "node:timers/promises";
import { YoutubeSite } from "../../lab/sites/youtube.ts";
import type { SandboxLimits } from "../../plugins/youtube/sandbox.ts";
import { SolverSession } from "../../plugins/youtube/solver-session.ts";
import { createSolverThread, type StartPort } from "../../plugins/youtube/solver-thread.ts";
import { createYoutubePlugin } from "../../plugins/youtube/youtube-plugin.ts";
import type { PersistedValue } from "../../src/bridge/plugin-messages.ts";
import type { Clock } from "../../src/lib/clock.ts";
import type { PlainTree } from "../../src/lib/plain-tree.ts";
import { PluginBench } from "./plugin-bench.ts";

/** Short enough for tests with scripts that never end, long enough for well-behaved ones on a busy machine. */
export const SHORT_LIMITS: SandboxLimits = { openMs: 4000, solveMs: 3000 };

/** A solver's session without a thread around it; what it is given is copied, as between threads. */
export function inThisThread(limits: SandboxLimits = SHORT_LIMITS): StartPort {
  return ({ reply }) => {
    const session = new SolverSession(limits);
    return {
      post: (job) => void session.handle(structuredClone(job)).then((answer) => reply(structuredClone(answer))),
      end: () => undefined,
    };
  };
}

export interface YoutubeBench {
  readonly site: YoutubeSite;
  readonly bench: PluginBench;
  /** Resolves once the solver has answered for the first time: the player script is prepared, or of no use. */
  readonly scriptAnswered: Promise<void>;
  close(): Promise<void>;
}

export interface YoutubeBenchOptions {
  readonly options?: (site: YoutubeSite) => Readonly<Record<string, PlainTree>>;
  readonly clock?: Clock;
  readonly startPort?: StartPort;
  /** The persisted values of a previous thread. */
  readonly persisted?: readonly PersistedValue[];
}

export async function startYoutubeBench(benchOptions: YoutubeBenchOptions = {}): Promise<YoutubeBench> {
  const { options, clock, persisted, startPort = inThisThread() } = benchOptions;
  const site = await YoutubeSite.start();
  let onAnswer = (): void => undefined;
  const answered = new Promise<void>((resolve) => {
    onAnswer = resolve;
  });
  const observedPort: StartPort = (on) =>
    startPort({
      ...on,
      reply: (reply) => {
        on.reply(reply);
        onAnswer();
      },
    });
  const plugin = createYoutubePlugin((host) => createSolverThread(host, observedPort));
  const bench = await PluginBench.start(plugin, {
    hosts: site.hosts,
    options: { ...site.options, ...options?.(site) },
    ...(clock !== undefined && { clock }),
    ...(persisted !== undefined && { persisted }),
  });
  return {
    site,
    bench,
    // Then the plugin has taken note of it.
    scriptAnswered: answered.then(() => nextIteration()),
    async close() {
      bench.close();
      await site.close();
    },
  };
}
