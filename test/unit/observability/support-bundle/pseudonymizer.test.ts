import { homedir } from "node:os";
import { describe, expect, test } from "vitest";
import { Pseudonymizer } from "../../../../src/observability/support-bundle/pseudonymizer.ts";

const KEY = "00112233445566778899aabbccddeeff";

function pseudonymizer(...secrets: string[]): Pseudonymizer {
  return new Pseudonymizer({ secrets, key: KEY });
}

describe("a pseudonymized text", () => {
  test("has other names for ids of Discord, the same ones wherever they stand", () => {
    const text = pseudonymizer().text("guild 817327181659111454, user=100000000000000001 (817327181659111454).");
    const [, guild = "", user = "", again] = /^guild (id-\w{8}), user=(id-\w{8}) \((.+)\)\.$/.exec(text) ?? [];
    expect(guild).not.toBe("");
    expect(again).toBe(guild);
    expect(user).not.toBe(guild);
    expect(pseudonymizer().text("817327181659111454")).toBe(guild);
    expect(new Pseudonymizer({ secrets: [] }).text("817327181659111454")).not.toBe(guild);
  });

  test("leaves numbers that are not ids", () => {
    const text = "sum 0.12345678901234567 bytes 25276510208 at 1795490107.577 V8 11.3.244.8-node.38, 10:22:33";
    expect(pseudonymizer().text(text)).toBe(text);
  });

  test("has other names for sessions", () => {
    const text = pseudonymizer().text(
      'x sessionId=abcdefgh12345678 "sessionId":"abcdefgh12345678" /v4/sessions/abcdefgh12345678/players',
    );
    expect(text).not.toContain("abcdefgh12345678");
    expect(new Set(text.match(/session-\w{8}/g))).toHaveLength(1);
  });

  test("says of an address in which kind of network it is, and no more", () => {
    const text = pseudonymizer().text(
      "from 203.0.114.9:443 to 192.168.1.20 by [2a01:4f8::7]:80, 2a01:4f8:0::7 and fe80::1/64",
    );
    expect(text).toMatch(
      /^from ip-\w{8} \(public\):443 to ip-\w{8} \(private\) by \[(ip-\w{8}) \(public\)\]:80, \1 \(public\) and ip-\w{8} \(linkLocal\)\/64$/,
    );
  });

  test.each(["127.0.0.1:2333", "0.0.0.0", "::1", ":: and", "127.0.0.0/8"])(
    "leaves %s, which every machine has",
    (text) => {
      expect(pseudonymizer().text(text)).toBe(text);
    },
  );

  test("a link is reduced to its host, without user and password", () => {
    const text = pseudonymizer().text(
      "could not read https://user:pass@media.example.com:8443/a/private.mp3?token=abc#x, again",
    );
    expect(text).toBe("could not read https://<redacted>@media.example.com:8443/… again");
  });

  test("the home folder, known secrets, and what looks like a secret are hidden", () => {
    const text = pseudonymizer("quiet phrase").text(`in ${homedir()}/music: quiet phrase, token=abcdef0123`);
    expect(text).toBe("in ~/music: <redacted>, token=<redacted>");
  });

  test("what is played is left out of a log line", () => {
    const line = 'a track failed title="Never \\"gonna\\"" author=Rick identifier=dQw4w9WgXcQ code=load-failed';
    expect(pseudonymizer().logLine(line)).toBe(
      "a track failed title=<left out> author=<left out> identifier=<left out> code=load-failed",
    );
  });
});
