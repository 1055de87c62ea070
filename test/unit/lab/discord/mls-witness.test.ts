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
import { expect, test } from "vitest";
import type { DaveMember } from "../../../../lab/discord/dave-member.ts";
import { FakeDiscord } from "../../../../lab/discord/fake-discord.ts";
import { openFrame, stepRatchet } from "../../../support/dave-reference.ts";
import { ReferenceVoiceClient } from "../../../support/reference-voice-client.ts";

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
    { signKey: pair.getPrivateKey(), publicKey },
    suite,
  );
}

test("ts-mls joins from the bot's Welcome and opens the bot's frames", async () => {
  const suite = await getCiphersuiteImpl(getCiphersuiteFromName(SUITE));
  const { publicPackage, privatePackage } = await createKeyPackage(suite);
  const discord = await FakeDiscord.start();
  const channel = discord.createChannel({ guildId: GUILD, channelId: CHANNEL, listenerIds: [] });
  const voice = discord.issueVoice({ guildId: GUILD, userId: BOT, channelId: CHANNEL });
  let welcomeBytes: Buffer | undefined;
  const witness = createWitness((welcome) => {
    welcomeBytes = welcome;
  });
  const client = new ReferenceVoiceClient({ guildId: GUILD, userId: BOT, voice });
  await client.open();
  client.identify();
  await client.ready();
  discord.session(GUILD).announceUsers([WITNESS]);
  channel.call.group.join(witness);
  client.select();
  // Wrapped in an MLSMessage: the other form of op 26 that the gateway takes.
  const wrapped = encodeMlsMessage({ version: "mls10", wireformat: "mls_key_package", keyPackage: publicPackage });
  expect(channel.call.group.onKeyPackage(witness, Buffer.from(wrapped))).toBe(true);
  await discord.until(() => welcomeBytes !== undefined, "Welcome");
  await client.until(() => client.isEncrypting);

  const message = Buffer.concat([Buffer.from([0, 1, 0, 3]), welcomeBytes ?? Buffer.alloc(0)]);
  const [decoded] = decodeMlsMessage(message, 0) ?? [];
  if (decoded?.wireformat !== "mls_welcome") throw new Error("not a Welcome");
  const state = await joinGroup(decoded.welcome, publicPackage, privatePackage, emptyPskIndex, suite);
  expect(Buffer.from(state.keySchedule.epochAuthenticator)).toEqual(client.dave?.getEpochAuthenticator());

  const sender = Buffer.alloc(8);
  sender.writeBigUInt64LE(BigInt(BOT));
  const { exporterSecret } = state.keySchedule;
  const base = await mlsExporter(exporterSecret, "Discord Secure Frames v0", sender, 16, suite);
  const { key } = stepRatchet(Buffer.from(base), 0);
  for (let frame = 0; frame < 200; frame++) {
    const opus = Buffer.from([0xfc, frame, 1, 2, 3]);
    expect(openFrame(key, client.dave?.encryptOpus(opus) ?? opus)).toEqual(opus);
  }
  discord.assertClean();
  client.close();
  await discord.close();
});
