// The codec of an elementary stream by its type and descriptors in the PMT (ISO 13818-1 table 2-34, ATSC A/52, ETSI EN
// 300 468 and TS 101 154, Blu-ray). Audio thread.

import type { TsDescriptor, TsStream } from "./ts-packets.ts";

/** "mpeg" is MPEG audio of any layer: the frames tell which. */
export type TsCodec = "aac" | "mpeg";

/** Types that are audio wherever they occur. */
const TYPE_NAMES: Readonly<Record<number, string>> = {
  17: "AAC in LATM",
  28: "AAC without headers",
  45: "MPEG-H 3D Audio",
  46: "MPEG-H 3D Audio",
  129: "AC-3",
  130: "DTS",
  131: "Dolby TrueHD",
  132: "E-AC-3",
  133: "DTS-HD",
  135: "E-AC-3",
  136: "DTS-UHD",
  138: "DTS",
  161: "E-AC-3",
  162: "DTS-HD",
  193: "encrypted AC-3",
  194: "encrypted E-AC-3",
  207: "encrypted AAC",
};

/** Tags of DVB's descriptors. */
const DESCRIPTOR_NAMES: Readonly<Record<number, string>> = {
  106: "AC-3",
  122: "E-AC-3",
  123: "DTS",
  124: "AAC in LATM",
};

/** Second tags of DVB's extension descriptor; 0x80 is FFmpeg's for Opus. */
const EXTENSION_DESCRIPTOR = 0x7f;
const EXTENSION_NAMES: Readonly<Record<number, string>> = {
  14: "DTS-HD",
  15: "DTS Neural Surround",
  21: "AC-4",
  33: "DTS-UHD",
  128: "Opus",
};

/** Names that registration descriptors (tag 5) give to private streams. */
const REGISTRATION_DESCRIPTOR = 0x05;
const REGISTERED_NAMES: Readonly<Record<string, string>> = {
  "AC-3": "AC-3",
  "AC-4": "AC-4",
  BSSD: "SMPTE 302M PCM",
  DTS1: "DTS",
  DTS2: "DTS",
  DTS3: "DTS",
  DTSH: "DTS-HD",
  DTSU: "DTS-UHD",
  EAC3: "E-AC-3",
  HDMV: "PCM of a Blu-ray",
  Opus: "Opus",
};

const PRIVATE_TYPE = 0x06;
const BLURAY_PCM_TYPE = 0x80;

/** What the stream holds: a codec that can be played, the name of another, or undefined where it is no audio. */
export function codecOf(entry: TsStream): TsCodec | { readonly name: string } | undefined {
  const { type, descriptors } = entry;
  if (type === 0x0f) return "aac";
  if (type === 0x03 || type === 0x04) return "mpeg";
  const name = TYPE_NAMES[type] ?? descriptors.map(describedName).find((found) => found !== undefined);
  if (name !== undefined) return { name };
  const registered = descriptors.map(registeredName).find((found) => found !== undefined);
  const isRegistered = registered !== undefined && (type === PRIVATE_TYPE || type === BLURAY_PCM_TYPE);
  return isRegistered ? { name: registered } : undefined;
}

function describedName({ tag, data }: TsDescriptor): string | undefined {
  return tag === EXTENSION_DESCRIPTOR ? EXTENSION_NAMES[data[0] ?? 0] : DESCRIPTOR_NAMES[tag];
}

function registeredName({ tag, data }: TsDescriptor): string | undefined {
  if (tag !== REGISTRATION_DESCRIPTOR || data.length < 4) return undefined;
  const id = String.fromCharCode(...data.subarray(0, 4));
  return Object.hasOwn(REGISTERED_NAMES, id) ? REGISTERED_NAMES[id] : undefined;
}
