// A listener as a member of a DAVE call: a davey session in this process that commits, joins and opens frames like a
// human's client.

import { DAVESession } from "@snazzah/davey";
import type { Clock } from "../../src/lib/clock.ts";
import { isDaveFrame } from "./dave-frame.ts";
import type { DaveGroup } from "./dave-group.ts";
import type { DaveMember } from "./dave-member.ts";
import type { FrameOpener } from "./listener.ts";
import { SILENCE_FRAME } from "./rtp-receiver.ts";
import type { ViolationKind } from "./violations.ts";

/** davey's enums exist for its own compiler only (discord-voice.md section 3.8). */
const MEDIA_AUDIO = 0;
const DAVE_VERSION = 1;

interface DaveListenerOptions {
  readonly userId: string;
  readonly channelId: string;
  readonly group: DaveGroup;
  readonly clock: Clock;
  readonly report: (kind: ViolationKind, detail: string) => void;
}

export class DaveListener implements DaveMember, FrameOpener {
  readonly kind = "listener";
  readonly userId: string;
  readonly #options: DaveListenerOptions;
  readonly #session: DAVESession;
  /** A commit announced, but to be processed before op 22 only. */
  #heldCommit: { readonly id: number; readonly commit: Buffer } | undefined;
  /** Bots of which a frame was opened since the group last took this listener in. */
  readonly #openedUserIds = new Set<string>();

  constructor(options: DaveListenerOptions) {
    this.userId = options.userId;
    this.#options = options;
    this.#session = new DAVESession(DAVE_VERSION, options.userId, options.channelId);
    this.#session.setExternalSender(options.group.externalSenderPackage);
  }

  /** Joins the call. */
  join(): void {
    this.#options.group.join(this);
    this.#sendKeyPackage();
  }

  /** The group's shared code, for comparing members; empty without a group. */
  get voicePrivacyCode(): string {
    return this.#session.voicePrivacyCode;
  }

  sendProposals(payload: Buffer): void {
    this.#processHeldCommit();
    this.#process("proposals", () => {
      const { commit, welcome } = this.#session.processProposals(payload[0] ?? 0, payload.subarray(1));
      if (commit === undefined) return;
      this.#options.group.onCommit(this, Buffer.concat([commit, welcome ?? Buffer.alloc(0)]));
    });
  }

  announceCommit(id: number, commit: Buffer): void {
    this.#processHeldCommit();
    this.#heldCommit = { id, commit };
    const isHeld = this.#options.group.policy.listenersProcess === "execute" && this.#session.ready && id !== 0;
    if (!isHeld) this.#processHeldCommit();
  }

  sendWelcome(id: number, welcome: Buffer): void {
    this.#openedUserIds.clear();
    this.#process(`Welcome of transition ${id}`, () => this.#session.processWelcome(welcome));
  }

  prepareTransition(): void {
    // Listeners are always ready, and plain frames never reach davey.
  }

  executeTransition(id: number): void {
    if (this.#heldCommit?.id === id) this.#processHeldCommit();
  }

  prepareEpoch(version: number): void {
    this.#heldCommit = undefined;
    this.#session.reinit(version, this.userId, this.#options.channelId);
    this.#sendKeyPackage();
  }

  open(botUserId: string, payload: Buffer): { readonly opus: Buffer; readonly daveDecrypted: boolean } | undefined {
    const { group, clock } = this.#options;
    const now = clock.now();
    const bot = group.slotOf(botUserId);
    if (!isDaveFrame(payload)) {
      // Whether plain audio is allowed has been judged for the channel; a member of the group does not play it.
      return bot === undefined || bot.allowsPlain(now) ? { opus: payload, daveDecrypted: false } : undefined;
    }
    try {
      const opus = this.#session.decrypt(botUserId, MEDIA_AUDIO, payload);
      this.#openedUserIds.add(botUserId);
      if (opus.equals(SILENCE_FRAME)) this.#options.report("silence-encrypted", `silence of ${botUserId}`);
      return { opus, daveDecrypted: true };
    } catch (error) {
      // A member that has just joined cannot read frames still sent for the previous group.
      const isJoining = !this.#openedUserIds.has(botUserId) && group.slotOf(this.userId)?.isEstablished(now) !== true;
      const isBotOut = bot === undefined || !bot.isActive;
      if (!isJoining && !isBotOut) {
        const reason = error instanceof Error ? error.message : String(error);
        this.#options.report("dave-frame-undecryptable", `${botUserId} to ${this.userId}: ${reason}`);
      }
      return undefined;
    }
  }

  /** Payload of op 26; a new one with each call. */
  createKeyPackage(): Buffer {
    return this.#session.getSerializedKeyPackage();
  }

  #sendKeyPackage(): void {
    this.#options.group.onKeyPackage(this, this.createKeyPackage());
  }

  #processHeldCommit(): void {
    const held = this.#heldCommit;
    this.#heldCommit = undefined;
    if (held !== undefined)
      this.#process(`commit of transition ${held.id}`, () => this.#session.processCommit(held.commit));
  }

  /** Listeners are given valid messages only: a message they cannot process was made wrongly by a bot. */
  #process(what: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.report("dave-commit", `listener ${this.userId} cannot process the ${what}: ${reason}`);
    }
  }
}
