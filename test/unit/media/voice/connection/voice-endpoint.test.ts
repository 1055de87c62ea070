import { describe, expect, test } from "vitest";
import { gatewayUrl, parseVoiceEndpoint } from "../../../../../src/media/voice/connection/voice-endpoint.ts";

describe("voice endpoint", () => {
  test.each([
    ["sweetwater-1.discord.media:2048", { host: "sweetwater-1.discord.media", port: 2048 }],
    ["sweetwater-1.discord.media", { host: "sweetwater-1.discord.media", port: 443 }],
    ["wss://a.discord.media:80", { host: "a.discord.media", port: 80 }],
    ["https://a.discord.media/path?v=4", { host: "a.discord.media", port: 443 }],
    ["  a.discord.media:1  ", { host: "a.discord.media", port: 1 }],
    ["10.0.0.1:65535", { host: "10.0.0.1", port: 65_535 }],
    ["[2001:db8::1]:99", { host: "2001:db8::1", port: 99 }],
    ["[::1]", { host: "::1", port: 443 }],
    ["2001:db8::1", { host: "2001:db8::1", port: 443 }],
  ])("the voice endpoint %s is parsed", (text, expected) => {
    expect(parseVoiceEndpoint(text)).toEqual(expected);
  });

  test.each([
    "",
    "   ",
    "wss://",
    "host:0",
    "host:65536",
    "host:",
    "host:abc",
    "user@host:1",
    "user:password@host:1",
    "ho st",
    "host\nx",
    "[::1",
    "[nonsense]:1",
    "[127.0.0.1]:1",
    "a".repeat(254),
  ])("the voice endpoint %j is refused", (text) => {
    expect(parseVoiceEndpoint(text)).toBeUndefined();
  });

  test("the gateway URL requests version 8", () => {
    expect(gatewayUrl({ host: "a.discord.media", port: 2048 }, "wss")).toBe("wss://a.discord.media:2048/?v=8");
    expect(gatewayUrl({ host: "::1", port: 9 }, "ws")).toBe("ws://[::1]:9/?v=8");
  });
});
