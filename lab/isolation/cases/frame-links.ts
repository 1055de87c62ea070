// Links to files of bare frames and small containers: MP3, ADTS, FLAC, WAV, MPEG-TS, and the ID3 tags in front of them.

import { ascii, be, bits, concat, digits, join, le, repeat } from "../../media-files/bytes.ts";
import { AAC_SILENCE, adtsFrame, flacFrame, flacHead, mp3Frame, wav } from "../../media-files/containers.ts";
import { type HostileLayer, playsFile } from "../harness/hostile-case.ts";

const MP3 = { fileName: "a.mp3" };
const FLAC = { fileName: "a.flac" };
const AAC = { fileName: "a.aac" };
const TS = { fileName: "a.ts" };
const SONG = repeat(mp3Frame(), 1000);

/** An ID3v2.4 tag around frames; the size may be wrong. */
function id3(frames: Uint8Array, claimedBytes = frames.length): Uint8Array {
  const size = [21, 14, 7, 0].map((shift) => (claimedBytes >> shift) & 0x7f);
  return concat(ascii("ID3"), Uint8Array.of(4, 0, 0, ...size), frames);
}

/** MPEG frame headers of 24 to 1440 bytes at every byte: each looks like a start. */
function falseMp3Heads(sizeBytes: number): Uint8Array {
  return repeat(Uint8Array.of(0xff, 0xfb, 0x90, 0x64), sizeBytes / 4);
}

/** Alternates 44.1, 48 and 32 kHz, mono and stereo. */
function changingMp3(count: number): Uint8Array {
  const frames = [0, 4, 8].flatMap((rate) =>
    [0x00, 0xc0].map((mode) => {
      const sizeBytes = Math.floor((144_000 * 64) / ([44_100, 48_000, 32_000][rate / 4] ?? 1));
      return concat(Uint8Array.of(0xff, 0xfb, 0x50 | rate, mode), new Uint8Array(sizeBytes - 4));
    }),
  );
  return repeat(concat(...frames), count);
}

function changingAdts(count: number): Uint8Array {
  const frames = Array.from({ length: 12 }, (_, rate) => adtsFrame(AAC_SILENCE, rate, 1 + (rate % 7)));
  return repeat(concat(...frames), count);
}

/** A packet of a transport stream that begins a unit on this PID. */
function tsPacket(pid: number, payload: Uint8Array, isStart = true): Uint8Array {
  const head = concat(Uint8Array.of(0x47), be((isStart ? 0x4000 : 0) | pid, 2), Uint8Array.of(0x10));
  const packet = new Uint8Array(188).fill(0xff);
  packet.set(concat(head, payload).subarray(0, 188));
  return packet;
}

/** A program association of as many programs as fit. */
function tsPrograms(): Uint8Array {
  const programs = concat(
    ...Array.from({ length: 40 }, (_, index) => concat(be(index + 1, 2), be(0xe000 | (0x100 + index), 2))),
  );
  const section = concat(
    Uint8Array.of(0, 0),
    be(0xb000 | (programs.length + 9), 2),
    be(1, 2),
    Uint8Array.of(0xc1, 0, 0),
    programs,
    be(0, 4),
  );
  return tsPacket(0, section);
}

export const frameLinks: HostileLayer = {
  layer: "frames",
  cases: [
    playsFile("mp3-false-heads", "8 MB of frame headers, one every four bytes", () => falseMp3Heads(8_000_000), MP3),
    playsFile("mp3-changing", "MP3 that changes rate and channels with every frame", () => changingMp3(5000), MP3),
    playsFile(
      "mp3-free-format",
      "MP3 in free format, whose frame length must be searched for",
      () => repeat(concat(Uint8Array.of(0xff, 0xfb, 0x00, 0x64), new Uint8Array(5000)), 500),
      MP3,
    ),
    playsFile(
      "mp3-xing-lies",
      "a Xing header that claims four billion frames and a table of nonsense",
      () => {
        const first = mp3Frame().slice();
        first.set(
          concat(ascii("Xing"), be(7, 4), be(2 ** 32 - 1, 4), be(2 ** 32 - 1, 4), new Uint8Array(100).fill(255)),
          21,
        );
        return concat(first, SONG);
      },
      MP3,
    ),
    playsFile(
      "mp3-random-data",
      "MP3 frames with random contents",
      () => {
        const frame = mp3Frame();
        return concat(
          ...Array.from({ length: 3000 }, (_, index) => {
            const copy = frame.slice();
            for (let at = 4; at < copy.length; at++) copy[at] = (at * index * 7919 + (index >> 2) * 104_729) & 0xff;
            return copy;
          }),
        );
      },
      MP3,
    ),
    playsFile(
      "id3-huge",
      "an ID3 tag that claims 256 MB",
      () => concat(id3(new Uint8Array(100), 2 ** 28 - 1), SONG),
      MP3,
    ),
    playsFile(
      "id3-frames",
      "an ID3 tag of 400,000 empty frames",
      () => concat(id3(repeat(concat(ascii("TXXX"), be(0, 6)), 400_000)), SONG),
      MP3,
    ),
    playsFile(
      "id3-many-tags",
      "100,000 ID3 tags one after the other",
      () => concat(repeat(id3(new Uint8Array(0)), 100_000), SONG),
      MP3,
    ),
    playsFile(
      "id3-text-16-mb",
      "a title of 16 MB in UTF-16",
      () => {
        const text = concat(Uint8Array.of(1, 0xff, 0xfe), repeat(le(0x263a, 2), 8_000_000));
        const size = [21, 14, 7, 0].map((shift) => (text.length >> shift) & 0x7f);
        return concat(id3(concat(ascii("TIT2"), Uint8Array.of(...size, 0, 0), text)), SONG);
      },
      MP3,
    ),
    playsFile("adts-changing", "ADTS that changes rate and channels with every frame", () => changingAdts(2000), AAC),
    playsFile("adts-empty", "ADTS frames without data", () => repeat(adtsFrame(new Uint8Array(0)), 300_000), AAC),
    playsFile(
      "adts-random",
      "ADTS frames with random contents",
      () => {
        const noise = (seed: number) =>
          Uint8Array.from({ length: 300 }, (_, at) => (at * seed * 7919 + (seed >> 2) * 104_729) & 0xff);
        return concat(...Array.from({ length: 2000 }, (_, index) => adtsFrame(noise(index))));
      },
      AAC,
    ),
    playsFile("adts-false-heads", "8 MB of sync words", () => repeat(Uint8Array.of(0xff, 0xf1), 4_000_000), AAC),
    playsFile(
      "flac-blocks",
      "FLAC with 100,000 metadata blocks",
      () => concat(flacHead({ rateHz: 44_100 }).with(4, 0), repeat(concat(Uint8Array.of(1), be(0, 3)), 100_000), SONG),
      FLAC,
    ),
    playsFile(
      "flac-false-frames",
      "8 MB of FLAC sync codes",
      () => concat(flacHead({ rateHz: 44_100 }), repeat(bits("1111111111111000 11001001 00011000"), 2_000_000)),
      FLAC,
    ),
    playsFile(
      "flac-tiny-frames",
      "FLAC of 200,000 frames of one sample",
      () =>
        concat(
          flacHead({ rateHz: 48_000, blockSamples: 16 }),
          join(Array.from({ length: 200_000 }, (_, index) => flacFrame(index, 1))),
        ),
      FLAC,
    ),
    playsFile(
      "flac-seek-table",
      "a seek table of a million points with invalid offsets",
      () =>
        concat(
          flacHead({ rateHz: 44_100, totalSamples: 2 ** 30 }).with(4, 0),
          Uint8Array.of(0x83),
          be(18 * 900_000, 3),
          repeat(concat(be(2n ** 60n, 8), be(2n ** 60n, 8), be(1, 2)), 900_000),
          ...Array.from({ length: 100 }, (_, index) => flacFrame(index, 4096)),
        ),
      FLAC,
    ),
    playsFile(
      "flac-large-blocks",
      "frames of 65,536 samples",
      () =>
        concat(
          flacHead({ rateHz: 655_350, blockSamples: 65_535 }),
          ...Array.from({ length: 400 }, (_, index) => flacFrame(index, 65_535)),
        ),
      FLAC,
    ),
    playsFile(
      "ts-programs",
      "MPEG-TS with 40 programs and no tables for them",
      () => join(Array.from({ length: 40_000 }, () => tsPrograms())),
      TS,
    ),
    playsFile(
      "ts-nothing",
      "40 MB of stuffing packets",
      () => repeat(tsPacket(0x1fff, new Uint8Array(0), false), 200_000),
      TS,
    ),
    playsFile(
      "ts-starts",
      "every packet begins a PES unit",
      () =>
        repeat(
          tsPacket(
            0x100,
            concat(be(1, 3), Uint8Array.of(0xc0), be(0, 2), Uint8Array.of(0x80, 0x80, 5), new Uint8Array(5)),
          ),
          100_000,
        ),
      TS,
    ),
    playsFile(
      "wav-chunks",
      "WAV of 500,000 empty chunks before the audio",
      () => concat(ascii("RIFF"), le(2 ** 32 - 1, 4), ascii("WAVE"), repeat(concat(ascii("junk"), le(0, 4)), 500_000)),
      { fileName: "a.wav" },
    ),
    playsFile(
      "wav-data-lies",
      "WAV that claims 4 GB of audio",
      () => wav({ rateHz: 48_000, data: new Uint8Array(10_000), claimedBytes: 2 ** 32 - 1 }),
      { fileName: "a.wav" },
    ),
    playsFile(
      "aiff",
      "AIFF, which is not supported",
      () => concat(ascii("FORM"), be(100, 4), ascii("AIFFCOMM"), be(18, 4), bits(digits(0, 144))),
      { fileName: "a.mp3" },
    ),
    playsFile("zeros", "20 MB of zeros that claim to be MP3", () => new Uint8Array(20_000_000), MP3),
    playsFile("text", "8 MB of text that claims to be AAC", () => "lorem ipsum ".repeat(700_000), AAC),
  ],
};
