// The sample layout of uncompressed audio in QuickTime and MP4: by the code of the sample entry (QuickTime File Format,
// "Sound sample descriptions"), by the flags of its version 2, or by `pcmC` (ISO 23003-5). Audio thread.

import type { PcmLayout } from "../../format/packet.ts";
import { Fields, findBox } from "./box.ts";

/** Flags of `lpcm`. */
const IS_FLOAT = 1;
const IS_BIG_ENDIAN = 2;
const IS_SIGNED = 4;
const IS_PACKED = 8;
const IS_PLANAR = 32;

const NOTHING = new Uint8Array(0);

/** `body` is the sample entry and `children` its boxes. Undefined for another codec, and a layout not played. */
export function readPcmLayout(type: string, body: Uint8Array, children: Uint8Array): PcmLayout | undefined {
  const declared = new Fields(body).u16(18);
  switch (type) {
    case "lpcm":
      return linear(new Fields(body));
    case "ipcm":
    case "fpcm":
      return configured(type, children);
    case "in24":
    case "in32":
      return sane({ encoding: "signed", bitsPerSample: Number(type.slice(2)), isBigEndian: !isLittle(children) });
    case "fl32":
    case "fl64":
      return sane({ encoding: "float", bitsPerSample: Number(type.slice(2)), isBigEndian: !isLittle(children) });
    case "sowt":
      return sane({ encoding: "signed", bitsPerSample: declared, isBigEndian: false });
    case "twos":
      return sane({ encoding: "signed", bitsPerSample: declared, isBigEndian: !isLittle(children) });
    case "raw ":
    case "NONE":
    case "\0\0\0\0":
      // More than 8 bits are signed.
      return sane({ encoding: declared > 8 ? "signed" : "unsigned", bitsPerSample: declared, isBigEndian: true });
    case "alaw":
      return { encoding: "alaw", bitsPerSample: 8, isBigEndian: false };
    case "ulaw":
      return { encoding: "mulaw", bitsPerSample: 8, isBigEndian: false };
    default:
      return undefined;
  }
}

/** Version 2 of the sample entry: bits at 48, flags at 52. */
function linear(fields: Fields): PcmLayout | undefined {
  if (fields.u16(8) !== 2) return sane({ encoding: "signed", bitsPerSample: fields.u16(18), isBigEndian: true });
  const bitsPerSample = fields.u32(48);
  const flags = fields.u32(52);
  const packetBytes = fields.u32(56);
  const isPadded = packetBytes > 0 && packetBytes !== (bitsPerSample / 8) * fields.u32(40);
  if (isPadded || (flags & IS_PLANAR) !== 0 || (flags & IS_PACKED) === 0) return undefined;
  const encoding = flags & IS_FLOAT ? "float" : flags & IS_SIGNED ? "signed" : "unsigned";
  return sane({ encoding, bitsPerSample, isBigEndian: (flags & IS_BIG_ENDIAN) !== 0 });
}

function configured(type: string, children: Uint8Array): PcmLayout | undefined {
  const fields = new Fields(findBox(children, "pcmC") ?? NOTHING);
  const isBigEndian = (fields.u8(4) & 1) === 0;
  return sane({ encoding: type === "fpcm" ? "float" : "signed", bitsPerSample: fields.u8(5), isBigEndian });
}

/** `enda`: the numbers begin with their lowest byte. */
function isLittle(children: Uint8Array): boolean {
  return new Fields(findBox(children, "wave", "enda") ?? findBox(children, "enda") ?? NOTHING).u16(0) === 1;
}

/** Only what the decoder of uncompressed audio reads. */
function sane(layout: PcmLayout): PcmLayout | undefined {
  const { encoding, bitsPerSample } = layout;
  const sizes = { signed: [8, 16, 24, 32], unsigned: [8], float: [32, 64], alaw: [8], mulaw: [8] }[encoding];
  return sizes.includes(bitsPerSample) ? layout : undefined;
}
