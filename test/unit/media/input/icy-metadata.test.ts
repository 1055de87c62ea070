import { describe, expect, it } from "vitest";
import {
  IcyStripper,
  metadataIntervalOf,
  parseStreamTitle,
  stationOf,
} from "../../../../src/media/input/icy-metadata.ts";
import { patternBytes } from "../../../support/input-builders.ts";

function block(text: string): Buffer {
  const sizeBytes = Math.ceil(Buffer.byteLength(text) / 16) * 16;
  const bytes = Buffer.alloc(1 + sizeBytes);
  bytes[0] = sizeBytes / 16;
  bytes.write(text, 1);
  return bytes;
}

describe("stripping", () => {
  const audio = patternBytes(1_000);
  const parts: Buffer[] = [];
  const titles: string[] = [];
  for (let at = 0; at < audio.length; at += 100) {
    parts.push(audio.subarray(at, at + 100));
    if (at % 200 === 0) titles.push(`Title ${at}`);
    parts.push(at % 200 === 0 ? block(`StreamTitle='Title ${at}';`) : Buffer.alloc(1));
  }
  const stream = Buffer.concat(parts);

  it.each([1, 2, 7, 16, 99, 100, 101, 117, 10_000])(
    "audio and titles are separated in chunks of %i bytes",
    (chunkBytes) => {
      const received: string[] = [];
      const stripper = new IcyStripper(100, (title) => received.push(title));
      const result: Uint8Array[] = [];
      for (let at = 0; at < stream.length; at += chunkBytes) {
        result.push(stripper.strip(stream.subarray(at, at + chunkBytes)));
      }
      expect(Buffer.concat(result).equals(audio)).toBe(true);
      expect(received).toEqual(titles);
    },
  );
});

it("audio between many titles is returned in one piece", () => {
  const stripper = new IcyStripper(1, () => undefined);
  const audio = stripper.strip(Buffer.from("s\0".repeat(1_000)));
  expect(Buffer.from(audio).toString()).toBe("s".repeat(1_000));
});

it("in a flood of titles only some are decoded, and the last", () => {
  const received: string[] = [];
  const stripper = new IcyStripper(1, (title) => received.push(title));
  const flood = Array.from({ length: 2_000 }, (_, index) => [Buffer.from("s"), block(`StreamTitle='${index}';`)]);
  expect(stripper.strip(Buffer.concat(flood.flat()))).toHaveLength(2_000);
  expect(received.length).toBeLessThan(20);
  expect(received.at(-1)).toBe("1999");
  stripper.strip(Buffer.from("s\0s\0"));
  expect(received.at(-1)).toBe("1999");
});

describe("titles", () => {
  it.each([
    ["StreamTitle='Artist - Song';StreamUrl='http://x/';", "Artist - Song"],
    ["StreamTitle='It's a 'quoted' one';", "It's a 'quoted' one"],
    ["StreamUrl='x';StreamTitle='Last'", "Last"],
    ["StreamTitle='';", undefined],
    ["nonsense", undefined],
    ["", undefined],
  ])("a metadata block %j has the title %j", (text, title) => expect(parseStreamTitle(Buffer.from(text))).toBe(title));

  it("titles are UTF-8 or, failing that, Windows-1252", () => {
    expect(parseStreamTitle(Buffer.from("StreamTitle='Käse';", "utf8"))).toBe("Käse");
    expect(parseStreamTitle(Buffer.from("StreamTitle='Käse';", "latin1"))).toBe("Käse");
  });
});

describe("headers", () => {
  it("the name of a station is UTF-8, Windows-1251 or Latin-1, though its header was read as Latin-1", () => {
    const names: [Buffer, string][] = [
      [Buffer.from("Радио été"), "Радио été"],
      [Buffer.from([0xca, 0xe8, 0xed, 0xee]), "Кино"],
      [Buffer.from("Radio été", "latin1"), "Radio été"],
    ];
    for (const [bytes, name] of names) {
      const headers = { "icy-name": bytes.toString("latin1"), "icy-description": bytes.toString("latin1") };
      expect(stationOf(headers)).toMatchObject({ name, description: name });
    }
  });

  it("headers of a station are recognised, others are not", () => {
    expect(stationOf({ "content-type": "audio/mpeg" })).toBeUndefined();
    expect(stationOf({ "icy-br": "128" })).toMatchObject({ name: undefined, streamTitle: undefined });
    expect(stationOf({ "icy-name": " One ", "icy-url": "" })).toMatchObject({ name: "One", url: undefined });
  });

  it("overlong station headers are cut off", () => {
    expect(stationOf({ "icy-name": "n".repeat(15_000) })?.name).toHaveLength(1_024);
  });

  it.each([
    ["16000", 16_000],
    ["0", undefined],
    ["-5", undefined],
    ["999999999999", undefined],
    ["x", undefined],
  ])("a metadata interval of %j is %j", (text, interval) => {
    expect(metadataIntervalOf({ "icy-metaint": text })).toBe(interval);
  });
});
