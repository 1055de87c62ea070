// One guild of a simulation: a bot in a voice channel, a listener, and the actions of the bot's users on a player, one
// after the other: other tracks, pauses, seeks, moves to other channels and voice servers. Also the faults that Discord
// causes on its connection.

import { pause } from "../../src/lib/pause.ts";
import type { ViolationKind } from "../discord/violations.ts";
import type { VoiceChannel } from "../discord/voice-channel.ts";
import type { IssuedVoice, VoiceSession } from "../discord/voice-session.ts";
import { opusPacketNumber } from "../media-files/counted-song.ts";
import type { NodeMessage } from "../test-environment/bot.ts";
import type { Dice } from "./dice.ts";
import { RECONNECT_MS_MAX, type Scene } from "./fault-plan.ts";
import { GatewayAbsence } from "./gateway-absence.ts";
import { type Play, SimulatedListener, type Tolerance } from "./simulated-listener.ts";
import { TrackEvents } from "./track-events.ts";
import { type SimulatedWorld, SONG_COUNT } from "./world.ts";

const FRAME_MS = 20;
/** From a request to the first frame: transit, probe, opening, connecting. */
const OPEN_MS = 3000;
/** From a change of voice server or channel until there is audio again. */
const REJOIN_MS = 6000;
const SEEK_MS = 1500;
/** The answer to an update whose connection attempt failed. */
const CONNECT_FAILED = "Failed to connect to voice server";
/** The voice server crashed. */
const CLOSE_CRASHED = 4015;
/** Longer than any fault may cause silence. */
const REST_MS = 14_000;

/** Between two actions of a user. */
const STEP_MS_MAX = 4000;
/** Between two updates of a player. */
const UPDATE_MS = 5000;
interface GuildOptions {
  readonly world: SimulatedWorld;
  readonly guildId: string;
  readonly random: Dice;
  readonly songPackets: number;
  /** Makes the web site misbehave on the next requests with this tag. */
  readonly spoil: (tag: string, how: "cut" | "stall") => void;
  /** Reports each action. */
  readonly note: (what: string) => void;
  readonly excuse: Scene["excuse"];
}

export class Guild {
  readonly guildId: string;
  readonly listener: SimulatedListener;
  readonly #options: GuildOptions;
  readonly #random: Dice;
  readonly #events: TrackEvents;
  #channelCount = 0;
  #channel: VoiceChannel | undefined;
  readonly #channels = new Set<VoiceChannel>();
  readonly #voices: IssuedVoice[] = [];
  #play: Play | undefined;
  #playCount = 0;
  #isPaused = false;
  /** The client has received the close of its voice connection. */
  #isVoiceClosed = false;
  /** The client's connection has been cut since it last received the state of its voice connection. */
  #mayHaveMissedClose = false;
  /** The last update of the player since then said that voice is not connected. */
  #isReportedDisconnected = false;
  /** Called with the next frame, of audio or of silence. */
  readonly #nextFrame: (() => void)[] = [];
  /** Updates that have not been answered. */
  #updateCount = 0;
  readonly #extraListeners: string[] = [];
  /** Time of the last action on its voice connection. */
  #voiceDeedMs = 0;
  readonly #absence: GatewayAbsence;
  /** The session whose voice server has crashed. */
  #crashed: VoiceSession | undefined;
  #downgraded = false;

  constructor(options: GuildOptions) {
    this.#options = options;
    this.guildId = options.guildId;
    this.#random = options.random;
    const { clock } = options.world;
    this.#events = new TrackEvents(() => clock.now());
    this.listener = new SimulatedListener({
      name: `guild ${options.guildId}`,
      now: () => clock.now(),
      songPackets: options.songPackets,
    });
    this.#absence = new GatewayAbsence({
      clock,
      session: () => (this.#channel === undefined ? undefined : options.world.discord.session(options.guildId)),
      allowSilence: (why, silentMs) => this.listener.allow({ why, silentMs }),
      excuse: options.excuse,
    });
  }

  /** Joins a channel and plays; then acts as users do until `endMs`, and stops. */
  async run(endMs: number): Promise<void> {
    const { clock } = this.#options.world;
    await pause(clock, this.#random.between(0, 500));
    await this.#join();
    await this.#startTrack();
    while (clock.now() < endMs) {
      await pause(clock, this.#random.between(200, STEP_MS_MAX));
      this.listener.check();
      await this.#options.world.client.whenConnected;
      if (this.#isVoiceLost) await this.#rejoin();
      else if (this.#play === undefined || this.listener.isAtEnd) await this.#startTrack();
      else await this.#doSomething();
    }
    await this.#comeToRest();
    await this.#endBy({ track: { encoded: null } }, this.#play);
    this.listener.stop();
    await pause(clock, 2000);
  }

  /** After all faults, the user repairs what is the user's to repair; then there must be audio. */
  async #comeToRest(): Promise<void> {
    const { clock } = this.#options.world;
    let restMs = 0;
    let receivedCount = 0;
    while (restMs < REST_MS) {
      await pause(clock, 2000);
      restMs += 2000;
      const isWell = !this.#isVoiceLost && !this.#isPaused && this.#play !== undefined && !this.listener.isAtEnd;
      if (isWell) continue;
      if (this.#isVoiceLost) await this.#rejoin();
      if (this.#isPaused) await this.#setPaused(false);
      if (this.#play === undefined || this.listener.isAtEnd) await this.#startTrack();
      restMs = 0;
      receivedCount = this.listener.receivedCount;
    }
    this.listener.check();
    if (this.listener.receivedCount === receivedCount)
      this.listener.faults.push(`guild ${this.guildId}: no audio in the end`);
  }

  /** A message of the node about this guild. */
  onMessage(message: NodeMessage): void {
    const { clock } = this.#options.world;
    if (message.op === "playerUpdate") {
      const { position, time, connected } = message.state as {
        readonly position: number;
        readonly time: number;
        readonly connected: boolean;
      };
      this.listener.reportPosition(position, clock.epochMs() - time);
      this.#isReportedDisconnected = !connected;
      if (connected) this.#mayHaveMissedClose = false;
    } else if (message.type === "WebSocketClosedEvent") {
      // The connection before a new one, which the client has requested.
      if (message.code === 1000) return;
      this.#isVoiceClosed = true;
      this.#mayHaveMissedClose = false;
      this.listener.allow({
        why: `voice closed with ${message.code}`,
        silentMs: 4500 + REJOIN_MS,
        lossMs: 4500 + REJOIN_MS,
      });
    } else if (message.type !== undefined) {
      this.#onTrackEvent(message);
    }
  }

  /**
   * Its gateway sends nothing any more: changes until the bot has noticed, after `forMs`, do not reach it. The fake
   * Discord may report `kinds` of it until it is back.
   */
  onGatewaySilent(forMs: number, kinds: readonly ViolationKind[]): void {
    void this.#absence.silence(forMs, kinds);
    if (this.#options.world.clock.now() - this.#voiceDeedMs < REJOIN_MS) this.#allowUnknowing();
  }

  /**
   * The gateway's connection is cut. Flowing audio continues; after a very recent voice action it has to start first,
   * and cannot before the gateway is back, which takes longer with every loss.
   */
  onGatewayCut(): void {
    void this.#absence.cut();
    if (this.#options.world.clock.now() - this.#voiceDeedMs < REJOIN_MS) void this.#absence.cutBeforeBeginning();
  }

  /** Errors in the events of its tracks, in words. */
  eventFaults(): readonly string[] {
    return this.#events.faults().map((fault) => `guild ${this.guildId}: ${fault}`);
  }

  onNextFrame(call: () => void): void {
    this.#nextFrame.push(call);
  }

  /**
   * The client's connection is cut, for this time. After a very recent voice action, the event that voice is closed may
   * be lost with it: then the client learns it from the next update of the player.
   */
  onClientCut(awayMs: number): void {
    const now = this.#options.world.clock.now();
    this.#events.onClientCut();
    this.#mayHaveMissedClose = true;
    this.#isReportedDisconnected = false;
    // It is refused without a session, and repeated when the client is back.
    if (this.#updateCount > 0) this.listener.allow({ why: "an update is repeated", silentMs: awayMs + OPEN_MS });
    if (now - this.#voiceDeedMs >= REJOIN_MS) return;
    const forMs = awayMs + UPDATE_MS + STEP_MS_MAX + REJOIN_MS;
    this.listener.allow({ why: "a close that the client may not receive", silentMs: forMs, lossMs: forMs });
  }

  get #isVoiceLost(): boolean {
    return this.#isVoiceClosed || (this.#mayHaveMissedClose && this.#isReportedDisconnected);
  }

  /**
   * Frames that reached Discord but no listener: the bot had already left, or the listener was not yet in the group.
   */
  get undeliveredFrames(): number {
    const { discord } = this.#options.world;
    const late = this.#voices.reduce((sum, voice) => sum + discord.session(voice).framesAfterEnd, 0);
    return [...this.#channels].reduce((sum, { listener }) => sum + listener.undeliveredCount, late);
  }

  #onTrackEvent({ type, track }: NodeMessage): void {
    const { userData } = track as { readonly userData?: { readonly play?: number } };
    const id = userData?.play;
    const reportPosition = this.#events.of(id);
    if (reportPosition === undefined) {
      this.listener.faults.push(`guild ${this.guildId}: ${type} of an unknown track`);
      return;
    }
    if (type === "TrackStartEvent") reportPosition.starts += 1;
    else if (type === "TrackEndEvent") reportPosition.ends += 1;
    else this.listener.faults.push(`guild ${this.guildId}: ${type} of play ${id}`);
    if (type === "TrackStartEvent" && reportPosition.ends > 0)
      this.listener.faults.push(`play ${id} starts after its end`);
    if (type === "TrackEndEvent" && id === this.#play?.id) {
      this.#play = undefined;
      this.listener.stop();
    }
  }

  async #doSomething(): Promise<void> {
    const deeds: readonly [number, () => Promise<void> | void][] = [
      [3, () => this.#startTrack()],
      [2, () => this.#setPaused(!this.#isPaused)],
      [3, () => this.#seek()],
      [1, () => this.#seekToTheEnd()],
      [1, () => this.#stop()],
      [2, () => this.#move("server")],
      [2, () => this.#move("channel")],
      [1, () => this.#kick()],
      [2, () => this.#cutConnection()],
      [2, () => this.#addExtraListener()],
      [2, () => this.#removeExtraListener()],
      [2, () => this.#changeEncryption()],
    ];
    const sum = deeds.reduce((total, [weight]) => total + weight, 0);
    let at = this.#random.between(0, sum);
    for (const [weight, deed] of deeds) {
      at -= weight;
      if (at < 0) return await deed();
    }
  }

  #note(what: string): void {
    this.#options.note(`guild ${this.guildId} ${what}`);
  }

  #noteVoice(what: string): void {
    this.#note(what);
    this.#voiceDeedMs = this.#options.world.clock.now();
    if (this.#absence.unknowingMs > 0) this.#allowUnknowing();
    // A bot whose gateway is unreachable learns of it when the gateway is back.
    if (this.#absence.isCut) this.#absence.allowBeginning();
  }

  #allowUnknowing(): void {
    const forMs = this.#absence.unknowingMs + REJOIN_MS;
    this.listener.allow({ why: "a change that the bot does not receive", silentMs: forMs, lossMs: forMs });
  }

  async #update(body: object): Promise<void> {
    this.#updateCount += 1;
    await this.#options.world.client.update(this.guildId, body).finally(() => {
      this.#updateCount -= 1;
    });
  }

  /** An update that ends the playing track. */
  #endBy(body: object, play: Play | undefined): Promise<void> {
    return this.#events.endBy(play?.id, () => this.#update(body));
  }

  #receive(packet: number): void {
    this.listener.receive(packet);
    if (this.listener.isAtEnd && this.#play !== undefined) this.#events.onLastPacket(this.#play.id);
  }

  // Actions of users

  async #startTrack(): Promise<void> {
    const { world, spoil, songPackets } = this.#options;
    const before = this.#play?.song ?? -1;
    let song = (Math.max(0, before) + this.#random.whole(1, SONG_COUNT - 1)) % SONG_COUNT;
    // The listener distinguishes tracks by their songs.
    while (this.listener.songs.includes(song)) song = (song + 1) % SONG_COUNT;
    const id = ++this.#playCount;
    const first = this.#random.chance(0.3) ? this.#random.whole(0, songPackets - 500) : 0;
    const tag = `${this.guildId}-${id}`;
    const encoded = await world.client.load(world.songUrl(song, tag));
    if (this.#random.chance(0.3)) spoil(tag, this.#random.pick(["cut", "stall"]));
    // The client may have been cut during the load; without a session nothing is played.
    await world.client.whenConnected;
    const play = { id, song, first };
    this.#note(`plays song ${song} from ${first} as ${id}`);
    this.#events.expect(id);
    const replaced = this.#play;
    this.#play = play;
    this.#isPaused = false;
    this.listener.expect(play, OPEN_MS);
    this.#absence.allowBeginning();
    const track = { encoded, userData: { play: id } };
    await this.#endBy({ track, position: first * FRAME_MS, paused: false }, replaced);
  }

  async #setPaused(isPaused: boolean): Promise<void> {
    this.#isPaused = isPaused;
    this.#note(isPaused ? "pauses" : "resumes");
    if (!isPaused) {
      this.listener.allow({ why: "resume", silentMs: 500 });
      this.#absence.allowBeginning();
      this.listener.pause(false);
    }
    await this.#update({ paused: isPaused });
    if (isPaused) this.listener.pause(true);
  }

  async #seek(): Promise<void> {
    const number = this.#random.whole(0, this.#options.songPackets - 1000);
    this.#note(`seeks to ${number}`);
    this.listener.expectSeek(number, SEEK_MS);
    await this.#update({ position: number * FRAME_MS });
  }

  async #seekToTheEnd(): Promise<void> {
    const number = this.#options.songPackets - this.#random.whole(10, 150);
    this.#note(`seeks to ${number}, near the end`);
    this.listener.expectSeek(number, SEEK_MS);
    await this.#update({ position: number * FRAME_MS });
    if (this.#isPaused) await this.#setPaused(false);
    await pause(this.#options.world.clock, 4500);
  }

  async #stop(): Promise<void> {
    this.#note("stops");
    await this.#endBy({ track: { encoded: null } }, this.#play);
    this.#play = undefined;
    this.listener.stop();
    await pause(this.#options.world.clock, this.#random.between(100, 1500));
  }

  // Voice

  async #join(): Promise<void> {
    await this.#connect(this.#options.world.discord.issueVoice(this.#newChannel()));
  }

  #newChannel() {
    const { world } = this.#options;
    const channelId = `${this.guildId}${(++this.#channelCount).toString().padStart(3, "0")}`;
    const daveVersion = this.#random.chance(0.8) ? 1 : 0;
    this.#extraListeners.length = 0;
    this.#downgraded = false;
    return { guildId: this.guildId, userId: world.client.userId, channelId, daveVersion };
  }

  async #connect(voice: IssuedVoice): Promise<void> {
    const channel = this.#options.world.discord.channel(voice.channelId);
    this.#channel = channel;
    this.#channels.add(channel);
    this.#voices.push(voice);
    channel.listener.onFrame = ({ isSilence, opus }) => {
      for (const onFrame of this.#nextFrame.splice(0)) onFrame();
      if (!isSilence) this.#receive(opusPacketNumber(opus));
    };
    this.#isVoiceClosed = false;
    this.#mayHaveMissedClose = false;
    const attemptMs = this.#options.world.clock.now();
    try {
      await this.#update({ voice });
    } catch (error) {
      // An unanswered connection attempt takes all the time an update has: its client gets an error, and repeats the
      // update.
      const isUnanswered = this.#absence.wasSilencedSince(attemptMs) && String(error).includes(CONNECT_FAILED);
      if (!isUnanswered) throw error;
      this.#noteVoice("connects once more");
      this.listener.allow({ why: "a second connection attempt", silentMs: REJOIN_MS, lossMs: REJOIN_MS });
      await this.#update({ voice });
    }
  }

  async #rejoin(): Promise<void> {
    this.#noteVoice("joins again");
    this.listener.allow({ why: "rejoin", silentMs: REJOIN_MS, lossMs: REJOIN_MS });
    await this.#join();
  }

  async #move(where: "server" | "channel"): Promise<void> {
    const { discord } = this.#options.world;
    this.listener.allow({ why: `move to another ${where}`, silentMs: REJOIN_MS, lossMs: REJOIN_MS });
    const closeOld = this.#random.pick(["now", "afterIdentify", "never"] as const);
    this.#noteVoice(`moves to another ${where}, the old one closed ${closeOld}`);
    const { guildId, ...channel } = where === "channel" ? this.#newChannel() : { guildId: this.guildId };
    const voice = discord.moveVoice({ guildId, ...channel, closeOld });
    await this.#connect(voice);
  }

  #kick(): void {
    const code = this.#random.pick([4006, 4014, 4022]);
    this.#noteVoice(`is kicked with ${code}`);
    this.#options.world.discord.session(this.guildId).close(code, "simulated");
  }

  #cutConnection(): void {
    const session = this.#options.world.discord.session(this.guildId);
    const how = this.#random.pick(["cut", "resumable", "new session", "lost session"] as const);
    this.#noteVoice(`loses its voice connection: ${how}`);
    this.#options.excuse(["speaking-not-cleared", "speaking-missing"], RECONNECT_MS_MAX);
    void this.#absence.cut();
    if (how === "cut") session.terminate();
    else if (how === "resumable") this.#closeResumable(session, this.#random.pick([1001, 4000, CLOSE_CRASHED]));
    else {
      const tolerance: Tolerance = { why: how, silentMs: REJOIN_MS, lossMs: REJOIN_MS };
      this.listener.allow(tolerance);
      if (how === "new session") session.close(4009, "simulated");
      else session.terminate({ canResume: false });
    }
  }

  #closeResumable(session: VoiceSession, code: number): void {
    if (code === CLOSE_CRASHED) {
      // A resume did not help for long: then a new session is requested, after a pause.
      const isCrashedAgain = this.#crashed === session;
      if (isCrashedAgain) this.listener.allow({ why: "a second crash", silentMs: REJOIN_MS, lossMs: REJOIN_MS });
      this.#crashed = session;
    }
    session.close(code, "simulated");
  }

  // End-to-end encryption

  async #addExtraListener(): Promise<void> {
    const channel = this.#channel;
    if (channel === undefined || this.#extraListeners.length >= 3) return;
    this.listener.allow({ why: "a listener joins", silentMs: 500, lossMs: 500 });
    this.#noteVoice("gains a listener");
    const isBroken = channel.daveVersion > 0 && !this.#downgraded && this.#random.chance(0.2);
    if (isBroken) this.listener.allow({ why: "a broken commit", silentMs: 3000, lossMs: 3000 });
    const joining = isBroken ? channel.sendBrokenCommit() : channel.addListener();
    const listener = await joining.catch(() => undefined); // the bot may have left by then; Discord reports that
    if (listener !== undefined) this.#extraListeners.push(listener.userId);
  }

  async #removeExtraListener(): Promise<void> {
    const userId = this.#extraListeners.pop();
    if (userId === undefined || this.#channel === undefined) return;
    this.#noteVoice("loses a listener");
    this.listener.allow({ why: "a listener leaves", silentMs: 500, lossMs: 500 });
    await this.#channel.removeListener(userId).catch(() => undefined); // as above
  }

  async #changeEncryption(): Promise<void> {
    const channel = this.#channel;
    if (channel === undefined || channel.daveVersion === 0) return;
    this.#noteVoice(this.#downgraded ? "is upgraded" : "is downgraded");
    this.listener.allow({ why: "encryption changes", silentMs: 2000, lossMs: 2000 });
    const change = this.#downgraded ? channel.upgrade() : channel.downgrade();
    this.#downgraded = !this.#downgraded;
    await change.catch(() => undefined); // as above
  }
}
