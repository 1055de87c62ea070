// Plugins that misbehave on demand, for tests and benchmarks that observe the effects from outside. Each module next to
// this one is one of them; they run on their own threads. Plugin thread.

import {
  definePlugin,
  type LoadRequest,
  type Plugin,
  type PluginHost,
  type SourceAnswer,
} from "../../src/plugin-api/plugin.ts";

const REFUSE = { type: "flag", default: false, meaning: "Fails to be set up." } as const;
const CHUNK_BYTES = 1 << 20;
const CHUNK_ITEMS = 100_000;
const REQUESTS_AT_ONCE = 32;
const REQUEST_TIMEOUT_MS = 20_000;

/** Memory that is never released. */
const retained: unknown[] = [];

/** One with a source of its name: `<name>:loop`, `<name>:program <code>` and the other `DEEDS`. */
export function misbehavingPlugin(name: string): Plugin<{ readonly refuse: typeof REFUSE }> {
  return definePlugin({
    name,
    version: "1.0.0",
    apiVersion: 1,
    config: { refuse: REFUSE },
    setup(host) {
      if (host.options.refuse) throw new Error("it was told to refuse");
      host.addSource({
        name,
        prefixes: [`${name}:`],
        load: async (request) => {
          const [deed = "", ...words] = request.identifier.slice(name.length + 1).split(" ");
          return DEEDS[deed]?.({ ...request, host, argument: words.join(" ") });
        },
        resolve: () => never(),
      });
    },
  });
}

interface DeedRequest extends LoadRequest {
  readonly host: Pick<PluginHost, "http" | "run">;
  /** The text after the deed's name. */
  readonly argument: string;
}

const DEEDS: Readonly<Record<string, (request: DeedRequest) => SourceAnswer | Promise<SourceAnswer>>> = {
  well: () => ({ kind: "track", track: { identifier: "well", title: "Well", lengthMs: 1000 } }),
  hang: untilAborted,
  loop: () => {
    for (;;);
  },
  promises: async () => {
    for (;;) await undefined;
  },
  heap: () => {
    for (;;) retained.push(new Array(CHUNK_ITEMS).fill({}));
  },
  buffers: async () => {
    for (;;) {
      retained.push(Buffer.alloc(CHUNK_BYTES, 1));
      await new Promise((done) => setImmediate(done));
    }
  },
  program: async ({ host, argument, signal }) => {
    const { stdout } = await host.run(process.execPath, { args: ["-e", argument], signal });
    return { kind: "track", track: { identifier: "program", title: stdout, lengthMs: 1000 } };
  },
  /** Asks for an address many times at once, and finds what became of each. */
  many: async ({ host, argument, signal }) => {
    const request = { signal, timeoutMs: REQUEST_TIMEOUT_MS };
    const asked = Array.from({ length: REQUESTS_AT_ONCE }, () => host.http.request(argument, request));
    const ends = await Promise.allSettled(asked);
    const kinds = ends.map((end) => (end.status === "rejected" ? String(end.reason.kind) : end.status));
    return { kind: "search", tracks: kinds.map((title) => ({ identifier: "many", title, lengthMs: 1000 })) };
  },
  throw: () => {
    throw new TypeError("a mistake");
  },
  stray: (request) => {
    setTimeout(() => {
      throw new Error("nobody catches this");
    }, 0);
    return untilAborted(request);
  },
  exit: () => process.exit(3),
  // Not what its types allow, as a plugin in JavaScript may.
  nonsense: () => ({ kind: "track", track: 7 }) as unknown as SourceAnswer,
};

function untilAborted({ signal }: LoadRequest): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
