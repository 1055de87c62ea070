// A media server with a script and the inputs that load from it, for tests of what servers do to inputs.

import type { Answer } from "../../lab/media-server/answer-plan.ts";
import { type LoggedRequest, MediaServer } from "../../lab/media-server/media-server.ts";
import { type InputDeps, type OpenedInput, openInput } from "../../src/media/input/open-input.ts";
import { FakeClock } from "./fake-clock.ts";
import { createInputDeps } from "./input-builders.ts";

export interface HttpInputBench {
  readonly server: MediaServer;
  readonly clock: FakeClock;
  readonly deps: InputDeps;
  /** Opens a path of the server, or a whole address. */
  open(path: string, options?: Pick<InputDeps, "isBare">): Promise<OpenedInput>;
  close(): Promise<void>;
}

/** Close it at the end. */
export async function startHttpInputBench(
  script: (request: LoggedRequest) => Answer | undefined,
  files: Readonly<Record<string, Uint8Array | string>> = {},
): Promise<HttpInputBench> {
  const server = await MediaServer.start({ script, files });
  const clock = new FakeClock();
  const deps = createInputDeps({ clock });
  const opened: OpenedInput[] = [];
  return {
    server,
    clock,
    deps,
    async open(path, options) {
      const url = path.includes("://") ? path : `${server.url}${path}`;
      const input = await openInput({ kind: "http", url, container: undefined }, { ...deps, ...options });
      opened.push(input);
      return input;
    },
    async close() {
      for (const { source } of opened) source.close();
      deps.client.close();
      await server.close();
    },
  };
}

/** Reads everything from the beginning, in pieces as a demuxer would. */
export async function readWhole({ source }: OpenedInput, pieceBytes = 10_000): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for (let at = 0; ; ) {
    const piece = await source.read(at, pieceBytes);
    pieces.push(piece);
    at += piece.length;
    if (piece.length < pieceBytes) return Buffer.concat(pieces);
  }
}
