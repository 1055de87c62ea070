// The gateway's part in an MLS group: an external sender that alone proposes joins and leaves. Written by hand over
// node:crypto (discord-voice.md section 4.4), so that it shares no code with the MLS library of the clients.

import { createECDH, createPrivateKey, type KeyObject, sign } from "node:crypto";
import { encodeVector, refHash } from "./mls-codec.ts";

const PROPOSAL_ADD = 1;
const PROPOSAL_REMOVE = 3;

/** One proposal as it goes into op 27, and the ProposalRef (hex) that revokes and commits name it by. */
export interface Proposal {
  readonly message: Buffer;
  readonly ref: string;
}

export class ExternalSender {
  /** Payload of op 25. */
  readonly packageBytes: Buffer;
  readonly #privateKey: KeyObject;
  readonly #groupId: Buffer;

  constructor(groupId: Buffer) {
    // generateKeyPairSync can deadlock when garbage is collected while it writes the keys (seen on Node.js 20).
    const keys = createECDH("prime256v1");
    const point = keys.generateKeys();
    const [x, y, d] = [point.subarray(1, 33), point.subarray(33), padNumber(keys.getPrivateKey())];
    const jwk = { kty: "EC", crv: "P-256", x: text(x), y: text(y), d: text(d) };
    this.#privateKey = createPrivateKey({ format: "jwk", key: jwk });
    // signature_key<V>, credential type 1 (basic), identity<V>: one zero byte, as in production.
    this.packageBytes = Buffer.concat([encodeVector(point), Buffer.from([0, 1]), encodeVector(Buffer.from([0]))]);
    this.#groupId = groupId;
  }

  add(epoch: bigint, keyPackage: Uint8Array): Proposal {
    return this.#propose(epoch, PROPOSAL_ADD, keyPackage);
  }

  remove(epoch: bigint, leafIndex: number): Proposal {
    const index = Buffer.alloc(4);
    index.writeUInt32BE(leafIndex);
    return this.#propose(epoch, PROPOSAL_REMOVE, index);
  }

  #propose(epoch: bigint, proposalType: number, body: Uint8Array): Proposal {
    const epochBytes = Buffer.alloc(8);
    epochBytes.writeBigUInt64BE(epoch);
    // version 1, wire format 1; group, epoch; sender type 2 (external), index 0; no authenticated data; content type 2.
    const signedBytes = Buffer.concat([
      Buffer.from([0, 1, 0, 1]),
      encodeVector(this.#groupId),
      epochBytes,
      Buffer.from([2, 0, 0, 0, 0, 0, 2, 0, proposalType]),
      body,
    ]);
    const labelled = Buffer.concat([encodeVector(Buffer.from("MLS 1.0 FramedContentTBS")), encodeVector(signedBytes)]);
    const signature = sign("sha256", labelled, this.#privateKey);
    const message = Buffer.concat([signedBytes, encodeVector(signature)]);
    // AuthenticatedContent is the message without its protocol version.
    return { message, ref: refHash("MLS 1.0 Proposal Reference", message.subarray(2)) };
  }
}

/** The channel id as 8 bytes. */
export function encodeGroupId(channelId: string): Buffer {
  const groupId = Buffer.alloc(8);
  groupId.writeBigUInt64BE(BigInt(channelId));
  return groupId;
}

/** Proposals to be added, as MLS libraries take them. */
export function encodeProposals(proposals: readonly Proposal[]): Buffer {
  return encodeVector(...proposals.map((proposal) => proposal.message));
}

/** Payload of op 27 that adds proposals. */
export function encodeAppend(proposals: readonly Proposal[]): Buffer {
  return Buffer.concat([Buffer.from([0]), encodeProposals(proposals)]);
}

/** Payload of op 27 that takes proposals back, by their refs in hex. */
export function encodeRevoke(refs: readonly string[]): Buffer {
  return Buffer.concat([Buffer.from([1]), encodeVector(...refs.map((ref) => encodeVector(Buffer.from(ref, "hex"))))]);
}

/** A number of P-256 in 32 bytes: Node leaves out the zeros that it begins with, one time in 256. */
export function padNumber(number: Buffer): Buffer {
  return Buffer.concat([Buffer.alloc(32 - number.length), number]);
}

function text(bytes: Buffer): string {
  return bytes.toString("base64url");
}
