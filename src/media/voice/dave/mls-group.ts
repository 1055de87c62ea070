// The MLS group of one call as the DAVE session sees it: adds to the MLS library what it leaves to its users (detecting
// repeated messages, matching commits to their authors, group ids learnt late; discord-voice.md section 3.8). On the
// audio thread.

import { createHash } from "node:crypto";
import { generateP256Keypair, DAVESession as MlsSession, type SigningKeyPair } from "@snazzah/davey";
import { isSnowflake } from "../../../lib/snowflake.ts";
import { keyPackageRefOf } from "./key-package-ref.ts";

/** Placeholder for the channel id until the first message of the group contains it. */
const UNKNOWN_CHANNEL_ID = "0";
/** Remembered per epoch; the gateway bundles changes, so real epochs have one or two. */
const REMEMBERED_MAX = 32;

/** Encrypts frames. */
export interface FrameCipher {
  encryptOpus(frame: Buffer): Buffer;
}

type ProposalsOutcome =
  /** Payload of op 28. */
  | { readonly kind: "commit"; readonly payload: Buffer }
  /** Nothing is proposed any more. */
  | { readonly kind: "nothing" }
  /** A proposal adds a user that the gateway has not announced. */
  | { readonly kind: "unknownUser" };

export class MlsGroup {
  readonly #userId: string;
  /** One for the life of the session: members may not change it. Made with the first MLS session. */
  #keyPair: SigningKeyPair | undefined;
  #channelId: string;
  #externalSender: Buffer | undefined;
  #session: MlsSession | undefined;
  /** Holds the private key of a key package that was sent before the channel id was known. */
  #placeholder: MlsSession | undefined;
  /** A key package was sent, and no group was joined since. */
  #isKeyPackageOut = false;
  /**
   * Holds the private key of a key package that was sent while the previous one was still unused. The gateway may use
   * the older one first; a session in a group accepts no Welcome, so the newer one needs a separate session.
   */
  #spare: { readonly session: MlsSession; readonly keyPackageRef: Buffer } | undefined;
  /** Digests: the messages themselves may be large. */
  #seenProposals: string[] = [];
  #ownCommits: string[] = [];
  #proposalsBytes = 0;

  /** `channelId` undefined, or none at all: learnt from the first message of the group. */
  constructor(userId: string, channelId: string | undefined) {
    this.#userId = userId;
    this.#channelId = isSnowflake(channelId) ? channelId : UNKNOWN_CHANNEL_ID;
  }

  /** Undefined while there is no group, not even our own. */
  get epoch(): bigint | undefined {
    return this.#session?.epoch ?? undefined;
  }

  /** The keys of the group we are in, undefined outside. */
  get cipher(): FrameCipher | undefined {
    return this.#session?.ready ? this.#session : undefined;
  }

  get hasBegun(): boolean {
    return this.#session !== undefined;
  }

  /**
   * Leaves the current group and begins our own, which others join or which a Welcome replaces. Returns our key
   * package. `isOldCipherRetained`: the holder of the old `cipher` may keep using it.
   */
  begin(version: number, { isOldCipherRetained }: { readonly isOldCipherRetained: boolean }): Buffer {
    if (this.#session === undefined || isOldCipherRetained) this.#session = this.#createSession(version);
    else this.#session.reinit(version, this.#userId, this.#channelId, this.#keyPair);
    this.#placeholder = undefined;
    this.#spare = undefined;
    this.#applyExternalSender();
    this.#forgetEpoch();
    return this.#createKeyPackage(this.#session);
  }

  /** One more key package; earlier ones stay valid. Undefined before `begin`. */
  createKeyPackage(): Buffer | undefined {
    return this.#session === undefined ? undefined : this.#createKeyPackage(this.#session);
  }

  /** Op 25. It cannot change inside a group: then it is stored for the next one. */
  setExternalSender(senderPackage: Buffer): void {
    if (this.#externalSender?.equals(senderPackage)) return;
    this.#externalSender = senderPackage;
    this.#applyExternalSender();
  }

  /** True for proposals this epoch has seen: they are not to be answered twice. */
  hasSeen(proposals: Buffer): boolean {
    return this.#seenProposals.includes(digestOf(proposals));
  }

  /** Size of the proposals of this epoch: all of them are processed again with every further one. */
  get proposalsBytes(): number {
    return this.#proposalsBytes;
  }

  /** Op 27. Throws when the proposals do not fit the group. */
  processProposals(operation: number, proposals: Buffer, knownUserIds: Iterable<string>): ProposalsOutcome {
    this.#proposalsBytes += proposals.length;
    try {
      const { commit, welcome } = this.#openSession.processProposals(operation, proposals, [...knownUserIds]);
      remember(this.#seenProposals, digestOf(proposals));
      if (commit === undefined) return { kind: "nothing" };
      remember(this.#ownCommits, digestOf(commit));
      return { kind: "commit", payload: welcome === undefined ? commit : Buffer.concat([commit, welcome]) };
    } catch (error) {
      if (isUnexpectedUser(error)) {
        // To be tried again.
        this.#proposalsBytes -= proposals.length;
        return { kind: "unknownUser" };
      }
      throw error;
    }
  }

  /** "latest": the last one we made. "outdated": one before it, which the MLS library can no longer follow. */
  whose(commit: Buffer): "latest" | "outdated" | "foreign" {
    const digest = digestOf(commit);
    if (this.#ownCommits.at(-1) === digest) return "latest";
    return this.#ownCommits.includes(digest) ? "outdated" : "foreign";
  }

  /** Op 29. Throws when it cannot be followed. */
  processCommit(commit: Buffer): void {
    this.#openSession.processCommit(commit);
    this.#isKeyPackageOut = false;
    this.#forgetEpoch();
  }

  /**
   * True when the Welcome answers our newest key package although an older one may have added us to the group already:
   * the gateway has removed us and added us again.
   */
  isAddedAgainBy(welcome: Buffer): boolean {
    return this.#spare !== undefined && welcome.includes(this.#spare.keyPackageRef);
  }

  /** Op 30. Throws when it cannot be used. */
  processWelcome(welcome: Buffer): void {
    // It answers the key package from before the channel id was known. Such a session can send but not follow commits:
    // the next one makes us rejoin, without an audible gap.
    const spare = this.isAddedAgainBy(welcome) ? this.#spare?.session : undefined;
    if (spare !== undefined && this.#externalSender !== undefined) spare.setExternalSender(this.#externalSender);
    const addressee = spare ?? this.#placeholder ?? this.#openSession;
    addressee.processWelcome(welcome);
    this.#session = addressee;
    this.#placeholder = undefined;
    if (spare !== undefined) this.#spare = undefined;
    this.#isKeyPackageOut = false;
    this.#forgetEpoch();
  }

  /** True when we can follow commits of this group. */
  isFor(groupId: bigint): boolean {
    return this.#session !== undefined && BigInt(this.#session.channelId) === groupId;
  }

  /**
   * Takes over the group id the gateway uses: it knows better than the client did. `isCertain` false: only when we know
   * none. In a group already its proposals can be answered all the same.
   */
  learnGroupId(groupId: bigint, { isCertain }: { readonly isCertain: boolean }): void {
    if (this.#session === undefined || this.isFor(groupId)) return;
    if (!isCertain && this.#channelId !== UNKNOWN_CHANNEL_ID) return;
    this.#channelId = groupId.toString();
    if (this.#session.ready) return;
    this.#placeholder ??= this.#session;
    this.#session = this.#createSession(this.#session.protocolVersion);
    this.#applyExternalSender();
  }

  get #openSession(): MlsSession {
    if (this.#session === undefined) throw new Error("no MLS session yet");
    return this.#session;
  }

  #createKeyPackage(session: MlsSession): Buffer {
    if (!this.#isKeyPackageOut) {
      this.#isKeyPackageOut = true;
      return session.getSerializedKeyPackage();
    }
    const spare = this.#createSession(session.protocolVersion);
    const keyPackage = spare.getSerializedKeyPackage();
    this.#spare = { session: spare, keyPackageRef: keyPackageRefOf(keyPackage) };
    return keyPackage;
  }

  #createSession(version: number): MlsSession {
    this.#keyPair ??= generateP256Keypair();
    return new MlsSession(version, this.#userId, this.#channelId, this.#keyPair);
  }

  #applyExternalSender(): void {
    if (this.#session === undefined || this.#externalSender === undefined || this.#session.ready) return;
    this.#session.setExternalSender(this.#externalSender);
  }

  #forgetEpoch(): void {
    this.#seenProposals = [];
    this.#ownCommits = [];
    this.#proposalsBytes = 0;
  }
}

function remember(list: string[], digest: string): void {
  if (list.length >= REMEMBERED_MAX) list.shift();
  list.push(digest);
}

function digestOf(message: Buffer): string {
  return createHash("sha256").update(message).digest("base64");
}

function isUnexpectedUser(error: unknown): boolean {
  return error instanceof Error && error.message.includes("UnexpectedUser");
}
