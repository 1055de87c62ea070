// A node process between a fake Discord and a fake web site, that a test ends by a signal and starts again: in the same
// folder, at the same port.

import { FakeDiscord } from "../../lab/discord/fake-discord.ts";
import { MediaServer, type MediaServerOptions } from "../../lab/media-server/media-server.ts";
import { TEST_PASSWORD } from "../../lab/test-environment/test-environment.ts";
import { LISTENING, type RunningNode, RunningNodes } from "./running-node.ts";

/** Its state is kept in its working directory, which is the default. */
const CONFIG = `
server.port: 0
lavalink.server: { password: ${TEST_PASSWORD}, playerUpdateInterval: 1, sources: { soundcloud: false, bandcamp: false } }
tonearm.network.allow: [127.0.0.0/8]
tonearm.voice.gatewayScheme: ws
`;

export class RestartingNode {
  readonly discord: FakeDiscord;
  readonly media: MediaServer;
  readonly #nodes = new RunningNodes();
  #node: RunningNode;
  #port = 0;

  private constructor(parts: { readonly discord: FakeDiscord; readonly media: MediaServer }) {
    this.discord = parts.discord;
    this.media = parts.media;
    this.#node = this.#nodes.run(["start"], { config: CONFIG });
  }

  /** Resolves when the node listens. */
  static async start(media: MediaServerOptions): Promise<RestartingNode> {
    const node = new RestartingNode({ discord: await FakeDiscord.start(), media: await MediaServer.start(media) });
    await node.#listens();
    return node;
  }

  get port(): number {
    return this.#port;
  }

  /** What the current process has written so far. */
  get output(): string {
    return this.#node.output();
  }

  /** Ends the process and waits for its end, then starts it again; resolves when it listens. */
  async restart(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const { child, cwd, exited } = this.#node;
    child.kill(signal);
    await exited;
    this.#node = this.#nodes.run(["start", `--server.port=${this.#port}`], { cwd });
    await this.#listens();
  }

  async close(): Promise<void> {
    this.#nodes.close();
    await this.discord.close();
    await this.media.close();
  }

  async #listens(): Promise<void> {
    const [, url = ""] = await this.#node.until(LISTENING);
    this.#port = Number(new URL(url).port);
  }
}
