// MPEG transport streams as trees: program tables with checksums, adaptation fields, PES units with AAC or MP3 inside.

import { be, concat, crc } from "../../media-files/bytes.ts";
import { mp3Frame } from "../../media-files/containers.ts";
import { bitNum, type Field, type GroupField, group, num, raw } from "./field-tree.ts";
import { adtsBytes } from "./frames.ts";
import { pick } from "./mutate.ts";

const sectionCrc = crc(32, 0x04c11db7);
const PACKET_BYTES = 188;
const MAP_PID = 0x1000;
const AUDIO_PID = 0x100;

interface Packet {
  readonly pid: number;
  readonly isStart: boolean;
  readonly counter: number;
  readonly payload: Field[];
}

function packet({ pid, isStart, counter, payload }: Packet): GroupField {
  const head = [
    ...[
      num("sync", 0x47, 1),
      bitNum("error", 0, 1),
      bitNum("start", isStart ? 1 : 0, 1),
      bitNum("priority", 0, 1),
      bitNum("pid", pid, 13),
    ],
    ...[bitNum("scrambled", 0, 2), bitNum("adaptation", 1, 2), bitNum("counter", counter & 15, 4)],
  ];
  return group("packet", [...head, ...payload], (body) => {
    const whole = new Uint8Array(PACKET_BYTES).fill(0xff);
    whole.set(body.subarray(0, PACKET_BYTES));
    return whole;
  });
}

/** A packet with an adaptation field that fills the rest. */
function filledPacket(base: Packet, data: Uint8Array): GroupField {
  const fill = PACKET_BYTES - 4 - data.length;
  if (fill <= 0) return packet({ ...base, payload: [raw("data", data)] });
  const adaptation = [
    num("adaptation length", fill - 1, 1),
    ...(fill > 1 ? [raw("stuffing", concat(Uint8Array.of(0), new Uint8Array(fill - 2).fill(255)))] : []),
  ];
  const made = packet({ ...base, payload: [...adaptation, raw("data", data)] });
  const flag = made.fields[6];
  if (flag?.kind === "number") flag.value = 3n;
  return made;
}

function section(table: number, fields: Field[]): Field[] {
  const made = group(
    "section",
    [
      bitNum("syntax", 0xb, 4),
      bitNum("length", 0, 12),
      num("id", 1, 2),
      num("version", 0xc1, 1),
      num("number", 0, 1),
      num("last", 0, 1),
      ...fields,
    ],
    (body, claimed) => {
      const whole = concat(Uint8Array.of(table), be(0xb000 | ((claimed + 2) & 0xfff), 2), body.subarray(2));
      return concat(whole, be(sectionCrc(whole), 4));
    },
  );
  return [num("pointer", 0, 1), made];
}

function pes(timeUnits: number, data: Uint8Array): Uint8Array {
  const stamp = (value: number) =>
    Uint8Array.of(
      0x21 | ((value / 2 ** 29) & 0xe),
      (value >> 22) & 0xff,
      ((value >> 14) & 0xfe) | 1,
      (value >> 7) & 0xff,
      ((value << 1) & 0xfe) | 1,
    );
  return concat(
    be(1, 3),
    Uint8Array.of(0xc0),
    be(data.length + 8, 2),
    Uint8Array.of(0x80, 0x80, 5),
    stamp(timeUnits),
    data,
  );
}

export function buildMpegTs(random: () => number): GroupField {
  const isAac = random() < 0.6;
  const programs = section(0, [num("program", 1, 2), num("map pid", 0xe000 | MAP_PID, 2)]);
  const audio = [num("type", isAac ? 0x0f : 0x03, 1), num("pid", 0xe000 | AUDIO_PID, 2), num("info length", 0xf000, 2)];
  const video = [num("type", 0x1b, 1), num("pid", 0xe101, 2), num("info length", 0xf000, 2)];
  const streams = random() < 0.3 ? [...video, ...audio] : audio;
  const map = section(2, [num("clock pid", 0xe000 | AUDIO_PID, 2), num("program info", 0xf000, 2), ...streams]);
  const packets = [
    packet({ pid: 0, isStart: true, counter: 0, payload: programs }),
    packet({ pid: MAP_PID, isStart: true, counter: 0, payload: map }),
  ];
  let counter = 0;
  for (let unit = 0; unit < 2 + Math.floor(random() * 10); unit++) {
    const data = pes(
      unit * 9000,
      isAac ? adtsBytes(1 + Math.floor(random() * 12), random) : concat(...Array.from({ length: 3 }, mp3Frame)),
    );
    for (let at = 0; at < data.length; at += 184) {
      packets.push(
        filledPacket(
          { pid: AUDIO_PID, isStart: at === 0, counter: counter++, payload: [] },
          data.subarray(at, at + 184),
        ),
      );
    }
  }
  const stray = packet({ pid: pick([0x1fff, 0x11, 0x101], random) ?? 0x1fff, isStart: false, counter: 0, payload: [] });
  return group("file", [...packets, stray]);
}
