import { DAVESession } from "@snazzah/davey";
import { describe, expect, test } from "vitest";
import { type CommitOffer, commitProblem } from "../../../../lab/discord/commit-rules.ts";
import { ExternalSender, encodeAppend, encodeGroupId } from "../../../../lab/discord/external-sender.ts";
import { keyPackageProblem } from "../../../../lab/discord/key-package-rules.ts";
import {
  type Commit,
  encodeVector,
  type KeyPackage,
  parseCommitWelcome,
  parseKeyPackage,
  type Welcome,
  welcomeFor,
} from "../../../../lab/discord/mls-codec.ts";

const CHANNEL = "300000000000000003";
const ALICE = "11";

function defined<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("expected a value");
  return value;
}

function newKeyPackage(userId: string): { readonly session: DAVESession; readonly bytes: Buffer } {
  const session = new DAVESession(1, userId, CHANNEL);
  return { session, bytes: session.getSerializedKeyPackage() };
}

/** Alice's commit that adds two users, the offer it answers, and one of the two added. */
function makeCommit() {
  const groupId = encodeGroupId(CHANNEL);
  const sender = new ExternalSender(groupId);
  const alice = newKeyPackage(ALICE);
  alice.session.setExternalSender(sender.packageBytes);
  const bob = newKeyPackage("22");
  bob.session.setExternalSender(sender.packageBytes);
  const adds = [bob.bytes, newKeyPackage("33").bytes].map((bytes) => {
    return { proposal: sender.add(0n, bytes), keyPackage: defined(parseKeyPackage(bytes)) };
  });
  const payload = encodeAppend(adds.map(({ proposal }) => proposal));
  const { commit, welcome } = alice.session.processProposals(0, payload.subarray(1));
  const message = Buffer.concat([defined(commit), defined(welcome)]);
  const added = new Map(adds.map(({ proposal, keyPackage }) => [proposal.ref, keyPackage]));
  const { signatureKey } = defined(parseKeyPackage(alice.bytes)).leaf;
  const offer: CommitOffer = {
    groupId,
    epoch: 0n,
    senderLeaf: 0,
    signatureKey,
    openRefs: new Set(added.keys()),
    added,
  };
  return { message, offer, alice: alice.session, bob, commitBytes: defined(commit) };
}

/** Every cut and, for each byte, a flip: the parser answers, never throws and never reads past the end. */
function expectSturdy(bytes: Buffer, parse: (bytes: Buffer) => unknown): void {
  for (let index = 0; index < bytes.length; index++) {
    expect(parse(bytes.subarray(0, index))).toBeUndefined();
    const flipped = Buffer.from(bytes);
    flipped[index] = (flipped[index] ?? 0) ^ (1 << (index % 8));
    parse(flipped);
  }
  expect(parse(Buffer.concat([bytes, Buffer.from([0])]))).toBeUndefined();
}

test("MLS vectors have their length in the shortest of three forms", () => {
  expect(encodeVector(Buffer.alloc(63)).subarray(0, 1)).toEqual(Buffer.from([63]));
  expect(encodeVector(Buffer.alloc(64)).subarray(0, 2)).toEqual(Buffer.from([0x40, 64]));
  expect(encodeVector(Buffer.alloc(16_383)).subarray(0, 2)).toEqual(Buffer.from([0x7f, 0xff]));
  expect(encodeVector(Buffer.alloc(16_384)).subarray(0, 4)).toEqual(Buffer.from([0x80, 0, 0x40, 0]));
});

describe("a key package", () => {
  test("a key package of davey is valid for its owner only", () => {
    const keyPackage = defined(parseKeyPackage(newKeyPackage(ALICE).bytes));
    expect(keyPackageProblem(keyPackage, ALICE)).toBeUndefined();
    expect(keyPackageProblem(keyPackage, "12")).toContain("identity");
  });

  test("a key package is refused for each of its errors", () => {
    const keyPackage = defined(parseKeyPackage(newKeyPackage(ALICE).bytes));
    const leaf = (changes: Partial<KeyPackage["leaf"]>) => ({
      ...keyPackage,
      leaf: { ...keyPackage.leaf, ...changes },
    });
    const wrongSignature = Buffer.from(keyPackage.signature);
    wrongSignature[wrongSignature.length - 1] = (wrongSignature.at(-1) ?? 0) ^ 1;
    const cases: [KeyPackage, string][] = [
      [{ ...keyPackage, version: 2 }, "MLS version"],
      [{ ...keyPackage, cipherSuite: 1 }, "ciphersuite"],
      [leaf({ credentialType: 2 }), "credential type"],
      [leaf({ source: 2 }), "leaf source"],
      [leaf({ notAfter: 1_900_000_000n }), "lifetime"],
      [leaf({ notBefore: 1n }), "lifetime"],
      [leaf({ extensions: Buffer.from([1]) }), "extensions"],
      [leaf({ versions: Buffer.alloc(0) }), "MLS version 1"],
      [leaf({ cipherSuites: Buffer.from([0, 1]) }), "ciphersuite 2"],
      [leaf({ credentials: Buffer.from([0, 2]) }), "basic credentials"],
      [leaf({ signatureKey: Buffer.alloc(33) }), "33 bytes"],
      [leaf({ signatureKey: Buffer.alloc(65) }), "signature of the leaf"],
      [leaf({ signedBytes: Buffer.from([1]) }), "signature of the leaf"],
      [{ ...keyPackage, signature: wrongSignature }, "signature of the key package"],
    ];
    for (const [wrong, problem] of cases) expect(keyPackageProblem(wrong, ALICE)).toContain(problem);
  });

  test("a key package is parsed bare and wrapped, and in no other form", () => {
    const { bytes } = newKeyPackage(ALICE);
    const wrapped = Buffer.concat([Buffer.from([0, 1, 0, 5]), bytes]);
    expect(parseKeyPackage(wrapped)).toEqual(parseKeyPackage(bytes));
    expectSturdy(bytes, parseKeyPackage);
  });
});

describe("a commit", () => {
  test("a commit of davey covers the proposals, and its Welcome the added members", () => {
    const { message, offer, commitBytes } = makeCommit();
    const { commit, welcome } = defined(parseCommitWelcome(message));
    expect(commit.bytes).toEqual(commitBytes);
    expect(commitProblem(offer, commit, welcome)).toBeUndefined();
  });

  test("a commit is refused for each of its errors", () => {
    const { message, offer } = makeCommit();
    const { commit, welcome } = defined(parseCommitWelcome(message));
    const [first = ""] = commit.proposalRefs;
    const otherKey = { ...defined(parseKeyPackage(newKeyPackage("9").bytes)).leaf };
    const half = { ...defined(welcome), secrets: defined(welcome).secrets.slice(1) };
    const cases: [Partial<CommitOffer>, Partial<Commit>, Welcome | undefined, string][] = [
      [{ groupId: Buffer.alloc(8) }, {}, welcome, "group id"],
      [{ epoch: 1n }, {}, welcome, "epoch"],
      [{ senderLeaf: 1 }, {}, welcome, "sender leaf"],
      [{ openRefs: new Set([first]) }, {}, welcome, "not open"],
      [{ openRefs: new Set([...offer.openRefs, "more"]) }, {}, welcome, "left out"],
      [{}, { proposalRefs: [...commit.proposalRefs, first] }, welcome, "twice"],
      [{}, { pathLeaf: otherKey }, welcome, "signature key"],
      [{}, {}, undefined, "no Welcome"],
      [{}, {}, half, "Welcome is for 1 members"],
      [{ added: new Map() }, {}, welcome, "no member is added"],
    ];
    for (const [offerChanges, commitChanges, theWelcome, problem] of cases) {
      const found = commitProblem({ ...offer, ...offerChanges }, { ...commit, ...commitChanges }, theWelcome);
      expect(found).toContain(problem);
    }
  });

  test("the parser survives truncated and flipped commits and Welcomes", () => {
    expectSturdy(makeCommit().message, (bytes) => {
      const parsed = parseCommitWelcome(bytes);
      // Cut exactly between the two it is a commit without a Welcome.
      return parsed?.welcome === undefined ? undefined : parsed;
    });
  });

  test("a member can join with a Welcome cut down to its entry", () => {
    const { message, offer, alice, bob, commitBytes } = makeCommit();
    const { welcome } = defined(parseCommitWelcome(message));
    const [keyPackage] = offer.added.values();
    const cut = welcomeFor(defined(welcome), defined(keyPackage).ref);
    expect(cut.length).toBeLessThan(defined(welcome).bytes.length);
    bob.session.processWelcome(cut);
    alice.processCommit(commitBytes);
    expect(bob.session.voicePrivacyCode).toBe(alice.voicePrivacyCode);
    expect(bob.session.ownLeafIndex).toBe(1);
  });
});
