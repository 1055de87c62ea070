// A bot under test as a member of a DAVE call: the group's messages go over its voice WebSocket.

import type { DaveMember } from "./dave-member.ts";
import type { VoiceSession } from "./voice-session.ts";

export class DaveBot implements DaveMember {
  readonly kind = "bot";
  readonly #session: VoiceSession;

  constructor(session: VoiceSession) {
    this.#session = session;
  }

  get userId(): string {
    return this.#session.userId;
  }

  sendExternalSender(payload: Buffer): void {
    this.#session.sendBinary("externalSender", 25, payload);
  }

  sendProposals(payload: Buffer): void {
    this.#session.sendBinary("proposals", 27, payload);
  }

  announceCommit(id: number, commit: Buffer): void {
    this.#session.sendBinary("announceCommit", 29, Buffer.concat([encodeId(id), commit]));
  }

  sendWelcome(id: number, welcome: Buffer): void {
    this.#session.sendBinary("welcome", 30, Buffer.concat([encodeId(id), welcome]));
  }

  prepareTransition(id: number, version: number): void {
    this.#session.sendJson("prepareTransition", 21, { transition_id: id, protocol_version: version });
  }

  executeTransition(id: number): void {
    this.#session.sendJson("executeTransition", 22, { transition_id: id });
  }

  prepareEpoch(version: number): void {
    this.#session.sendJson("prepareEpoch", 24, { protocol_version: version, epoch: 1 });
  }
}

function encodeId(id: number): Buffer {
  return Buffer.from([id >> 8, id & 0xff]);
}
