// ts-mls, an MLS library that neither the node nor the listeners use, joins a call as the fake Discord sets it up: an
// independent word on key packages, Welcomes, key derivation and the frame format (discord-voice.md section 4.6).

import { createECDH } from "node:crypto";
import {
  type CiphersuiteImpl,
  type CiphersuiteName,
  decodeMlsMessage,
  emptyPskIndex,
  encodeMlsMessage,
  generateKeyPackageWithKey,
  getCiphersuiteFromName,
  getCiphersuiteImpl,
  joinGroup,
  mlsExporter,
} from "ts-mls";
import { afterEach, expect, test } from "vitest";
import type { DaveMember } from "../../../../lab/discord/dave-member.ts";
import { padNumber } from "../../../../lab/discord/external-sender.ts";
import { FakeDiscord } from "../../../../lab/discord/fake-discord.ts";
import { openFrame, sealFrame, stepRatchet } from "../../../support/dave-reference.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { ReferenceVoiceClient, SILENCE } from "../../../support/reference-voice-client.ts";

const GUILD = "100000000000000001";
const BOT = "200000000000000002";
const CHANNEL = "300000000000000003";
const WITNESS = "700000000000000007";
const SUITE: CiphersuiteName = "MLS_128_DHKEMP256_AES128GCM_SHA256_P256";

/** A member that keeps what it is sent. */
function createWitness(onWelcome: (welcome: Buffer) => void): DaveMember {
  const nothing = () => undefined;
  return {
    userId: WITNESS,
    kind: "listener",
    sendProposals: nothing,
    announceCommit: nothing,
    sendWelcome: (_id, welcome) => onWelcome(welcome),
    prepareTransition: nothing,
    executeTransition: nothing,
    prepareEpoch: nothing,
  };
}

/** The key pair is ours: the library's own keygen yields a compressed point. */
function createKeyPackage(suite: CiphersuiteImpl) {
  const identity = Buffer.alloc(8);
  identity.writeBigUInt64BE(BigInt(WITNESS));
  const pair = createECDH("prime256v1");
  const publicKey = pair.generateKeys();
  return generateKeyPackageWithKey(
    { credentialType: "basic", identity },
    { versions: ["mls10"], ciphersuites: [SUITE], extensions: [], proposals: [], credentials: ["basic"] },
    { notBefore: 0n, notAfter: 2n ** 64n - 1n },
    [],
    { signKey: padNumber(pair.getPrivateKey()), publicKey },
    suite,
  );
}

let discord: FakeDiscord;
let client: ReferenceVoiceClient;

afterEach(async () => {
  client.close();
  await discord.close();
});

/** The bot, a davey listener and ts-mls in one first group, made by the bot's commit. Yields the bot's frame key. */
async function joinAsWitness(): Promise<{ readonly key: Buffer; readonly epochAuthenticator: Buffer }> {
  const suite = await getCiphersuiteImpl(getCiphersuiteFromName(SUITE));
  const { publicPackage, privatePackage } = await createKeyPackage(suite);
  discord = await FakeDiscord.start({ clock: new FakeClock() });
  const { group } = discord.createChannel({ guildId: GUILD, channelId: CHANNEL }).call;
  let welcome: Buffer | undefined;
  const witness = createWitness((bytes) => {
    welcome = bytes;
  });
  // Its key package is due from here on, so no group forms before it has arrived.
  group.join(witness);
  const voice = discord.issueVoice({ guildId: GUILD, userId: BOT, channelId: CHANNEL });
  client = new ReferenceVoiceClient({ guildId: GUILD, userId: BOT, voice });
  await client.open();
  client.identify();
  await client.ready();
  await client.discover();
  discord.session(voice).announceUsers([WITNESS]);
  client.select();
  client.speaking(1);
  await discord.until(() => discord.session(voice).countOf(26) === 1, "key package of the bot");
  // Wrapped in an MLSMessage: the other form of op 26 that the gateway takes.
  const wrapped = encodeMlsMessage({ version: "mls10", wireformat: "mls_key_package", keyPackage: publicPackage });
  expect(group.onKeyPackage(witness, Buffer.from(wrapped))).toBe(true);
  await discord.until(() => welcome !== undefined, "Welcome");
  await client.until(() => client.isEncrypting);

  const message = Buffer.concat([Buffer.from([0, 1, 0, 3]), welcome ?? Buffer.alloc(0)]);
  const [decoded] = decodeMlsMessage(message, 0) ?? [];
  if (decoded?.wireformat !== "mls_welcome") throw new Error("not a Welcome");
  const state = await joinGroup(decoded.welcome, publicPackage, privatePackage, emptyPskIndex, suite);
  const sender = Buffer.alloc(8);
  sender.writeBigUInt64LE(BigInt(BOT));
  const { exporterSecret, epochAuthenticator } = state.keySchedule;
  const base = await mlsExporter(exporterSecret, "Discord Secure Frames v0", sender, 16, suite);
  return { key: stepRatchet(Buffer.from(base), 0).key, epochAuthenticator: Buffer.from(epochAuthenticator) };
}

test("ts-mls joins from the bot's Welcome and opens the bot's frames", async () => {
  const { key, epochAuthenticator } = await joinAsWitness();
  expect(epochAuthenticator).toEqual(client.dave?.getEpochAuthenticator());
  for (let frame = 0; frame < 200; frame++) {
    const opus = Buffer.from([0xfc, frame, 1, 2, 3]);
    expect(openFrame(key, client.dave?.encryptOpus(opus) ?? opus)).toEqual(opus);
  }
  discord.assertClean();
});

test("a listener decrypts frames sealed by hand with that key, and reports encrypted silence", async () => {
  const { key } = await joinAsWitness();
  const { listener } = discord.channel(CHANNEL);
  const opus = Buffer.from([0xfc, 1, 2, 3]);
  client.sendPacket(sealFrame(key, 1, opus));
  await discord.until(() => listener.receivedCount === 1, "frame");
  expect(listener.received[0]).toMatchObject({ opus, daveDecrypted: true });
  discord.assertClean();
  client.sendPacket(sealFrame(key, 2, SILENCE));
  await discord.until(() => listener.receivedCount === 2, "silence");
  expect(discord.violations.map((violation) => violation.kind)).toEqual(["silence-encrypted"]);
  expect(listener.undeliveredCount).toBe(0);
  // The same counter once more: a listener refuses to decrypt it.
  client.sendPacket(sealFrame(key, 1, opus));
  await discord.until(() => listener.undeliveredCount === 1, "refusal");
});
