// Node, listening post and control players together: the target of a hostile case. Repairs what the last case has
// broken, so that the next one finds all control players playing.

import { sleep } from "../../sleep.ts";
import { ControlPlayers } from "./control-players.ts";
import { ListeningPost, type WindowResult } from "./listening-post.ts";
import type { NodeSetting } from "./node-context.ts";
import type { NodeUnderTest } from "./node-under-test.ts";
import { longestGapMs } from "./verdict.ts";

/**
 * Audio has settled when a window of this length has no gap longer than that; a busy machine may never be that quiet.
 */
const SETTLED_WINDOW_MS = 500;
const SETTLED_GAP_MS = 100;
const SETTLE_TRIES = 20;

type StartNode = (setting: NodeSetting) => Promise<NodeUnderTest>;

export class Harness {
  readonly post: ListeningPost;
  readonly #startNode: StartNode;
  #node: NodeUnderTest;
  #players: ControlPlayers;

  private constructor(
    startNode: StartNode,
    parts: { node: NodeUnderTest; post: ListeningPost; players: ControlPlayers },
  ) {
    this.#startNode = startNode;
    this.#node = parts.node;
    this.post = parts.post;
    this.#players = parts.players;
  }

  /** `startNode` is called again whenever the node has ended, or a case needs another setting. */
  static async start(startNode: StartNode, setting: NodeSetting = "plain"): Promise<Harness> {
    const post = await ListeningPost.start();
    let node: NodeUnderTest | undefined;
    try {
      node = await startNode(setting);
      await post.askVersion(node.url);
      const harness = new Harness(startNode, { node, post, players: await ControlPlayers.start(node, post) });
      await harness.#settle();
      return harness;
    } catch (error) {
      await node?.close();
      post.close();
      throw error;
    }
  }

  get node(): NodeUnderTest {
    return this.#node;
  }

  get players(): ControlPlayers {
    return this.#players;
  }

  /**
   * Resolves when all control players play, and have for a moment. Throws when that cannot be achieved. After an attack
   * that has done harm, our own node is restarted: the state after one case is no fair start for the next.
   */
  async restore({ wasHarmed, setting }: { readonly wasHarmed: boolean; readonly setting: NodeSetting }): Promise<void> {
    const isOther = this.#node.setting !== setting;
    if (this.#node.hasEnded || ((wasHarmed || isOther) && this.#node.isOurs)) {
      await this.#restartNode(setting);
    } else if ((await this.#players.lossesSince(this.#players.messageCount)).length > 0) {
      await this.#restartPlayers().catch(() => this.#restartNode(setting));
    } else {
      await this.#players.rewind();
    }
    await this.#settle();
  }

  /** Measures while `work` runs. */
  async measure(work: () => Promise<unknown>): Promise<WindowResult> {
    await this.post.openWindow();
    await work();
    return this.post.closeWindow();
  }

  async close(): Promise<void> {
    this.#players.close();
    await this.#node.close();
    this.post.close();
  }

  async #restartNode(setting: NodeSetting): Promise<void> {
    await this.#node.close();
    this.#node = await this.#startNode(setting);
    await this.post.askVersion(this.#node.url);
    await this.#restartPlayers();
  }

  async #restartPlayers(): Promise<void> {
    this.#players.close();
    this.#players = await ControlPlayers.start(this.#node, this.post);
  }

  async #settle(): Promise<void> {
    let gapMs = Number.POSITIVE_INFINITY;
    for (let count = 0; count < SETTLE_TRIES && gapMs > SETTLED_GAP_MS; count++) {
      gapMs = longestGapMs(await this.measure(() => sleep(SETTLED_WINDOW_MS)));
    }
    if (gapMs >= SETTLED_WINDOW_MS) throw new Error("the control players send no audio, even without an attack");
  }
}
