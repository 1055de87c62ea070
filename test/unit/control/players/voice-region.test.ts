import { expect, test } from "vitest";
import { voiceRegion } from "../../../../src/control/players/voice-region.ts";

test.each([
  ["rotterdam9032.discord.media:2053", "rotterdam"],
  ["us-east-1.discord.media", "us-east"],
  ["c-fra07-1a2b3c4d.discord.media:443", "fra"],
  ["wss://Sydney77.discord.gg/?v=8&token=abc", "sydney"],
  ["voice.example:80", "voice.example"],
  ["[::1]:8080", "[::1]"],
  ["user:secret@voice.example", null],
  [`${"a".repeat(300)}.example`, null],
  ["", null],
])("the voice region of %s is %s", (endpoint, region) => {
  expect(voiceRegion(endpoint)).toBe(region);
});
