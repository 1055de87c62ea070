import { describe, expect, test } from "vitest";
import { hashOf, isKeyName, makeKey, readKeyFile } from "../../../../src/control/access/client-key.ts";
import { UNLIMITED } from "../../../../src/control/access/identity.ts";
import { systemRandom } from "../../../../src/lib/random.ts";

const HASH = hashOf("one");
const OTHER = hashOf("other");

function mistakesOf(text: string): string {
  try {
    readKeyFile(text, "keys.yml");
  } catch (error) {
    expect(error).toMatchObject({ code: "keys-invalid" });
    return error instanceof Error ? error.message : "";
  }
  return "none";
}

test("each new key is different, and its hash matches only that key", () => {
  const keys = Array.from({ length: 10 }, () => makeKey(systemRandom));
  expect(new Set(keys).size).toBe(10);
  for (const key of keys) expect(key).toMatch(/^tonearm_[\w-]{43}$/);
  expect(hashOf(keys[0]!)).toBe(hashOf(keys[0]!));
  // As `printf %s one | openssl dgst -sha256 -binary | basenc --base64url` has it, without the `=`.
  expect(hashOf("one")).toBe("sha256:dpLDrTVAu4A8Ags67mbNiIcSMjTqDG5xQ8Ct1z_0Me0");
});

test("a limit that is left out of the key file is unlimited", () => {
  expect(readKeyFile(`bot:\n  hashes: [${HASH}]\n`, "keys.yml")).toEqual([
    { name: "bot", role: "client", hashes: [HASH], limits: UNLIMITED },
  ]);
  expect(readKeyFile("", "keys.yml")).toEqual([]);
  expect(readKeyFile("# nobody\n", "keys.yml")).toEqual([]);
});

test("every member of a key is read, in the file's order", () => {
  const text = `
music-bot:
  hashes: [${HASH}, ${OTHER}]
  sessions: 2
  players: 100
  requestsPerSecond: 20
  sources: [HTTP, soundcloud]
  filters: [karaoke, channelmix, tonearm]
watcher:
  hashes: ${hashOf("third")}
  role: viewer
  sources: []
`;
  const [bot, watcher] = readKeyFile(text, "keys.yml");
  expect(bot).toEqual({
    name: "music-bot",
    role: "client",
    hashes: [HASH, OTHER],
    limits: {
      sessions: 2,
      players: 100,
      requestsPerSecond: 20,
      sources: new Set(["http", "soundcloud"]),
      filters: new Set(["karaoke", "channelMix", "tonearm"]),
    },
  });
  expect(watcher).toMatchObject({ name: "watcher", role: "viewer", limits: { sources: new Set() } });
});

describe("a mistake in the key file is reported with its position", () => {
  test.each([
    ["bot:\n  hashes: []\n", "keys.yml:2:11: bot has no hashes: `tonearm keys add bot` makes a key"],
    ["bot:\n  role: client\n", "keys.yml:2:9: bot has no hashes"],
    [`bot:\n  hashes: ${hashOf("")}\n`, "keys.yml:2:11: that is the hash of no text at all"],
    [`bot:\n  hashes: [${["a", "b", "c", "d", "e"].map(hashOf)}]\n`, "`tonearm keys retire bot` leaves the newest"],
    [`bot:\n  hashes: ${HASH}\n  role: admin\n`, 'role to be one of client, viewer, operator, found "admin"'],
    [`bot:\n  hashes: ${HASH}\n  player: 3\n`, 'keys.yml:3:11: a key has no "player"; did you mean players?'],
    [`bot:\n  hashes: ${HASH}\n  players: many\n`, "keys.yml:3:12: expected players to be a whole number from 1 to"],
    [`bot:\n  hashes: ${HASH}\n  players: 0\n`, "expected players to be a whole number from 1"],
    [`bot:\n  hashes: ${HASH}\n  players: [1]\n`, "expected players to be one value"],
    [`bot:\n  hashes: ${HASH}\n  filters: [karoke]\n`, 'there is no filter "karoke"; there are volume'],
    [`bot:\n  hashes: ${HASH}\n  sources: { http: true }\n`, "expected sources to be a list"],
    [`b o t:\n  hashes: ${HASH}\n`, "expected the name of a key"],
    ["bot: 3\n", "expected what bot may do below its name"],
    [`a:\n  hashes: ${HASH}\nb:\n  hashes: ${HASH}\n`, "keys.yml: a and b have the same hash"],
    ["bot:\n hashes: [a\n", "keys.yml:"],
  ])("%j", (text, message) => {
    expect(mistakesOf(text)).toContain(message);
  });

  test("the error of a key file never shows a text that may be a key", () => {
    const key = makeKey(systemRandom);
    expect(mistakesOf(`bot:\n  hashes: ${key}\n`)).not.toContain(key);
    expect(mistakesOf(`bot:\n  ${key}: 1\n`)).not.toContain(key);
    expect(mistakesOf(`bot:\n  role: ${key}\n`)).not.toContain(key);
  });

  test("a key file that never ends is not read to its end", () => {
    const many = Array.from({ length: 1500 }, (_, index) => `bot${index}:\n  hashes: ${hashOf(String(index))}\n`).join(
      "",
    );
    expect(mistakesOf(many)).toMatch(/more than 1000 keys[\s\S]*and \d+ more$/);
    expect(mistakesOf("a:\n  hashes: b\n".repeat(200_000))).toContain("the file");
  });
});

test("names of keys must be short and plain", () => {
  expect(["bot", "a-b_c", "x".repeat(64)].every(isKeyName)).toBe(true);
  expect(["", "a b", "ä", "a.b", "../x", "x".repeat(65)].some(isKeyName)).toBe(false);
});
