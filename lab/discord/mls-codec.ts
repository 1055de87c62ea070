// The few MLS structures (RFC 9420) that the delivery service of a DAVE call has to read: key packages, commits and
// Welcomes, as discord-voice.md section 4.5 draws them. All integers big endian; `<V>` is a length-prefixed vector.

import { createHash } from "node:crypto";

export const MLS_VERSION = 1;
/** DHKEM(P-256) AES-128-GCM SHA-256 ECDSA-P256. */
export const CIPHER_SUITE = 2;
const WIRE_PUBLIC_MESSAGE = 1;
const WIRE_KEY_PACKAGE = 5;
const SENDER_MEMBER = 1;
const CONTENT_COMMIT = 3;

interface LeafNode {
  readonly signatureKey: Buffer;
  readonly credentialType: number;
  readonly identity: Buffer;
  readonly versions: Buffer;
  readonly cipherSuites: Buffer;
  readonly credentials: Buffer;
  /** 1 key package, 2 update, 3 commit. */
  readonly source: number;
  /** Only with source 1. */
  readonly notBefore: bigint;
  readonly notAfter: bigint;
  readonly extensions: Buffer;
  /** The bytes before the signature. */
  readonly signedBytes: Buffer;
  readonly signature: Buffer;
}

export interface KeyPackage {
  readonly bytes: Buffer;
  /** KeyPackageRef in hex: how a Welcome names its addressee. */
  readonly ref: string;
  readonly version: number;
  readonly cipherSuite: number;
  readonly leaf: LeafNode;
  readonly extensions: Buffer;
  readonly signedBytes: Buffer;
  readonly signature: Buffer;
}

export interface Commit {
  /** The whole MLSMessage. */
  readonly bytes: Buffer;
  readonly groupId: Buffer;
  readonly epoch: bigint;
  readonly senderLeaf: number;
  /** ProposalRefs in hex, in order. */
  readonly proposalRefs: readonly string[];
  /** Leaf of the UpdatePath, when there is one. */
  readonly pathLeaf: LeafNode | undefined;
}

export interface Welcome {
  readonly bytes: Buffer;
  readonly cipherSuite: number;
  /** One entry per new member: its KeyPackageRef in hex, and the entry's bytes. */
  readonly secrets: readonly { readonly newMember: string; readonly bytes: Buffer }[];
  /** `encrypted_group_info` with its length. */
  readonly groupInfo: Buffer;
}

/** Reads forward; a read past the end fails the reader for good and yields zeros. */
class MlsReader {
  readonly #bytes: Buffer;
  #position = 0;
  #hasFailed = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  get isAtEnd(): boolean {
    return this.#position >= this.#bytes.length;
  }

  /** The bytes read since `start`. */
  since(start: number): Buffer {
    return this.#bytes.subarray(start, this.#position);
  }

  get position(): number {
    return this.#position;
  }

  fail(): void {
    this.#hasFailed = true;
    this.#position = this.#bytes.length;
  }

  /** Reads a value that has to be `expected`. */
  expect(lengthBytes: number, expected: number): void {
    if (this.uint(lengthBytes) !== expected) this.fail();
  }

  uint(lengthBytes: number): number {
    const bytes = this.bytes(lengthBytes);
    return bytes.length === 0 ? 0 : bytes.readUIntBE(0, lengthBytes);
  }

  uint64(): bigint {
    const bytes = this.bytes(8);
    return bytes.length === 0 ? 0n : bytes.readBigUInt64BE(0);
  }

  bytes(lengthBytes: number): Buffer {
    const end = this.#position + lengthBytes;
    if (end > this.#bytes.length) {
      this.fail();
      return Buffer.alloc(0);
    }
    const bytes = this.#bytes.subarray(this.#position, end);
    this.#position = end;
    return bytes;
  }

  /** A variable-size vector; its length must be in the shortest form (RFC 9420 section 2.1.2). */
  vector(): Buffer {
    const first = this.uint(1);
    const prefix = first >> 6;
    if (prefix === 0) return this.bytes(first);
    if (prefix === 3) {
      this.fail();
      return Buffer.alloc(0);
    }
    const length = prefix === 1 ? ((first & 0x3f) << 8) | this.uint(1) : (first & 0x3f) * 2 ** 24 + this.uint(3);
    if (length < (prefix === 1 ? 1 << 6 : 1 << 14)) this.fail();
    return this.bytes(length);
  }
}

/** A variable-size vector: QUIC-style length, then the bytes. */
export function encodeVector(...parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  let prefix: Buffer;
  if (length < 1 << 6) {
    prefix = Buffer.from([length]);
  } else if (length < 1 << 14) {
    prefix = Buffer.from([0x40 | (length >> 8), length & 0xff]);
  } else {
    prefix = Buffer.alloc(4);
    prefix.writeUInt32BE(0x8000_0000 + length);
  }
  return Buffer.concat([prefix, ...parts]);
}

/** RefHash of RFC 9420 section 5.2, in hex. */
export function refHash(label: string, value: Uint8Array): string {
  return createHash("sha256")
    .update(encodeVector(Buffer.from(label)))
    .update(encodeVector(value))
    .digest("hex");
}

/** Op 26: a bare KeyPackage, or one wrapped in an MLSMessage; undefined when malformed. */
export function parseKeyPackage(payload: Buffer): KeyPackage | undefined {
  const isWrapped = payload.length > 4 && payload.readUInt16BE(2) === WIRE_KEY_PACKAGE;
  const bytes = isWrapped ? payload.subarray(4) : payload;
  const reader = new MlsReader(bytes);
  const version = reader.uint(2);
  const cipherSuite = reader.uint(2);
  reader.vector(); // init_key
  const leaf = readLeafNode(reader);
  const extensions = reader.vector();
  const signedBytes = reader.since(0);
  const signature = reader.vector();
  if (reader.hasFailed || !reader.isAtEnd) return undefined;
  const ref = refHash("MLS 1.0 KeyPackage Reference", bytes);
  return { bytes, ref, version, cipherSuite, leaf, extensions, signedBytes, signature };
}

/** Op 28: a commit and, right behind it, perhaps a Welcome; undefined when malformed. */
export function parseCommitWelcome(
  payload: Buffer,
): { readonly commit: Commit; readonly welcome: Welcome | undefined } | undefined {
  const reader = new MlsReader(payload);
  const commit = readCommit(reader);
  const welcome = reader.isAtEnd || reader.hasFailed ? undefined : readWelcome(reader);
  return reader.hasFailed || !reader.isAtEnd ? undefined : { commit, welcome };
}

/** The Welcome with only the entry of one new member, as the real gateway hands it out. */
export function welcomeFor(welcome: Welcome, newMember: string): Buffer {
  const suite = Buffer.alloc(2);
  suite.writeUInt16BE(welcome.cipherSuite);
  const entries = welcome.secrets.filter((secret) => secret.newMember === newMember).map((secret) => secret.bytes);
  return Buffer.concat([suite, encodeVector(...entries), welcome.groupInfo]);
}

function readLeafNode(reader: MlsReader): LeafNode {
  const start = reader.position;
  reader.vector(); // encryption_key
  const signatureKey = reader.vector();
  const credentialType = reader.uint(2);
  const identity = reader.vector();
  const versions = reader.vector();
  const cipherSuites = reader.vector();
  reader.vector(); // extension types
  reader.vector(); // proposal types
  const credentials = reader.vector();
  const source = reader.uint(1);
  const notBefore = source === 1 ? reader.uint64() : 0n;
  const notAfter = source === 1 ? reader.uint64() : 0n;
  if (source === 3)
    reader.vector(); // parent_hash
  else if (source !== 1 && source !== 2) reader.fail();
  const extensions = reader.vector();
  const signedBytes = reader.since(start);
  const signature = reader.vector();
  const capabilities = { versions, cipherSuites, credentials };
  const lifetime = { source, notBefore, notAfter };
  return { signatureKey, credentialType, identity, ...capabilities, ...lifetime, extensions, signedBytes, signature };
}

function readCommit(reader: MlsReader): Commit {
  const start = reader.position;
  reader.expect(2, MLS_VERSION);
  reader.expect(2, WIRE_PUBLIC_MESSAGE);
  const groupId = reader.vector();
  const epoch = reader.uint64();
  reader.expect(1, SENDER_MEMBER);
  const senderLeaf = reader.uint(4);
  reader.vector(); // authenticated_data
  reader.expect(1, CONTENT_COMMIT);
  const proposalRefs = readProposalRefs(reader);
  const pathLeaf = reader.uint(1) === 0 ? undefined : readPath(reader);
  reader.vector(); // signature
  reader.vector(); // confirmation_tag
  reader.vector(); // membership_tag
  return { bytes: reader.since(start), groupId, epoch, senderLeaf, proposalRefs, pathLeaf };
}

/** Proposals by reference only: an inline proposal fails the reader (DAVE forbids it). */
function readProposalRefs(reader: MlsReader): string[] {
  const proposals = new MlsReader(reader.vector());
  const refs: string[] = [];
  while (!proposals.isAtEnd) {
    proposals.expect(1, 2);
    refs.push(proposals.vector().toString("hex"));
  }
  if (proposals.hasFailed) reader.fail();
  return refs;
}

function readPath(reader: MlsReader): LeafNode {
  const leaf = readLeafNode(reader);
  reader.vector(); // nodes
  return leaf;
}

function readWelcome(reader: MlsReader): Welcome {
  const start = reader.position;
  const cipherSuite = reader.uint(2);
  const entries = new MlsReader(reader.vector());
  const secrets: { newMember: string; bytes: Buffer }[] = [];
  while (!entries.isAtEnd) {
    const entryStart = entries.position;
    const newMember = entries.vector().toString("hex");
    entries.vector(); // kem_output
    entries.vector(); // ciphertext
    secrets.push({ newMember, bytes: entries.since(entryStart) });
  }
  if (entries.hasFailed) reader.fail();
  const groupInfoStart = reader.position;
  reader.vector();
  return { bytes: reader.since(start), cipherSuite, secrets, groupInfo: reader.since(groupInfoStart) };
}
