// The control players: players of a well-behaved client, each in its own guild with an hour-long song, which must not
// be affected by an attack. Some are passed through, some decoded and encoded.

import { sleep } from "../../sleep.ts";
import { Bot, type NodeMessage } from "../../test-environment/bot.ts";
import type { ListeningPost } from "./listening-post.ts";

interface Song {
  readonly file: string;
  readonly daveVersion: number;
  /** Further fields of the PATCH. */
  readonly player: object;
}

const SONGS: readonly Song[] = [
  { file: "song.webm", daveVersion: 1, player: {} },
  { file: "song.ogg", daveVersion: 0, player: {} },
  { file: "song.mp3", daveVersion: 1, player: {} },
  { file: "song.webm", daveVersion: 0, player: { volume: 60 } },
];
const USER_ID = "100000000000000001";
/** Songs are restarted from this position, well before their end. */
const POSITION_MS_MAX = 40 * 60_000;
/** Events that a control client must never receive in the middle of a song. */
const LOSSES: readonly string[] = ["TrackEndEvent", "TrackExceptionEvent", "TrackStuckEvent", "WebSocketClosedEvent"];
const CAPACITY_TRIES = 60;
const CAPACITY_WAIT_MS = 500;
let guildCount = 0;

export class ControlPlayers {
  readonly #bot: Bot;
  readonly #guildIds: readonly string[];

  private constructor(bot: Bot, guildIds: readonly string[]) {
    this.#bot = bot;
    this.#guildIds = guildIds;
  }

  /** All are in voice, play and are listened to. */
  static async start(node: { readonly url: string; readonly password: string }, post: ListeningPost) {
    const bot = await Bot.connect({ ...node, userId: USER_ID });
    await post.forget();
    const guildIds: string[] = [];
    for (const { file, daveVersion, player } of SONGS) {
      const guildId = String(110_000_000_000_000_000n + BigInt(++guildCount));
      const channelId = `${guildId}7`;
      const voice = await post.issueVoice({ guildId, userId: USER_ID, channelId, daveVersion });
      await updatePatiently(bot, guildId, { voice });
      await post.watch(guildId, channelId);
      await updatePatiently(bot, guildId, { track: { identifier: `${post.mediaUrl}/${file}` }, ...player });
      await bot.until(({ type, guildId: id }) => type === "TrackStartEvent" && id === guildId, `the start of ${file}`);
      guildIds.push(guildId);
    }
    return new ControlPlayers(bot, guildIds);
  }

  /** Number of messages received so far: the starting point for `lossesSince`. */
  get messageCount(): number {
    return this.#bot.messages.length;
  }

  /** Events that the client should not have received since `messageCount`, and players that have lost their track. */
  async lossesSince(messageCount: number): Promise<string[]> {
    const received = this.#bot.messages.slice(messageCount).filter(({ type = "" }) => LOSSES.includes(type));
    const losses = received.map(describe);
    for (const guildId of this.#guildIds) {
      const player = await this.#bot.player(guildId).catch(() => undefined); // the node cannot be asked
      if (player?.track == null) losses.push("a control player has lost its track");
    }
    return losses;
  }

  /** Restarts songs that would end in the middle of a measurement. */
  async rewind(): Promise<void> {
    for (const guildId of this.#guildIds) {
      const { state } = await this.#bot.player(guildId);
      if (state.position > POSITION_MS_MAX) await this.#bot.update(guildId, { position: 0 });
    }
  }

  close(): void {
    this.#bot.terminate();
  }
}

/** A node that has just started, or is still recovering, may answer that it has no capacity yet. */
async function updatePatiently(bot: Bot, guildId: string, body: object): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await bot.update(guildId, body);
      return;
    } catch (error) {
      if (tries === CAPACITY_TRIES || !String(error).includes(" 503 ")) throw error;
      await sleep(CAPACITY_WAIT_MS);
    }
  }
}

function describe(message: NodeMessage): string {
  const { exception, reason } = message as { exception?: { message?: string }; reason?: unknown };
  return `a control player received ${message.type} (${exception?.message ?? reason ?? ""})`;
}
