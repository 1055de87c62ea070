// Names of audio codecs that MP4 files may hold and the node cannot play, for its messages. Audio thread.

/** Codes of sample entries (registry of the MP4 Registration Authority, QuickTime File Format). */
const CODECS: Readonly<Record<string, string>> = {
  "ac-3": "AC-3",
  "ec-3": "E-AC-3",
  "ac-4": "AC-4",
  dtsc: "DTS",
  dtsh: "DTS-HD",
  dtsl: "DTS-HD Master Audio",
  dtse: "DTS Express",
  dtsx: "DTS-UHD",
  dtsy: "DTS-UHD",
  mlpa: "Dolby TrueHD",
  samr: "AMR",
  sawb: "AMR-WB",
  sawp: "AMR-WB+",
  sqcp: "QCELP",
  sevc: "EVRC",
  mha1: "MPEG-H 3D Audio",
  mha2: "MPEG-H 3D Audio",
  mhm1: "MPEG-H 3D Audio",
  mhm2: "MPEG-H 3D Audio",
  iamf: "IAMF",
  ima4: "IMA ADPCM",
  "ms\0\x02": "Microsoft ADPCM",
  "ms\0\x11": "IMA ADPCM",
  "ms\0\x31": "GSM",
  agsm: "GSM",
  ilbc: "iLBC",
  QDMC: "QDesign Music",
  QDM2: "QDesign Music 2",
  Qclp: "QCELP",
  MAC3: "MACE 3:1",
  MAC6: "MACE 6:1",
  ".mp1": "MPEG Layer I",
  ".mp2": "MPEG Layer II",
  spex: "Speex",
  "wma ": "Windows Media Audio",
  ulaw: "mu-law",
  alaw: "A-law",
  lpcm: "uncompressed audio in an unknown layout",
  ipcm: "uncompressed audio in an unknown layout",
  fpcm: "uncompressed audio in an unknown layout",
  drms: "an encrypted track (FairPlay)",
  enca: "an encrypted track",
};

/** What an elementary stream descriptor declares (ISO 14496-1, the registry's object types). */
const OBJECT_TYPES: Readonly<Record<number, string>> = {
  165: "AC-3",
  166: "E-AC-3",
  169: "DTS",
  170: "DTS-HD",
  171: "DTS-HD Master Audio",
  172: "DTS Express",
  174: "AC-4",
  160: "EVRC",
  161: "SMV",
  221: "Vorbis",
  225: "QCELP",
};

/** The code of a sample entry with the codec's name, where it is known. */
export function nameCodec(type: string): string {
  const name = CODECS[type];
  if (name?.startsWith("an ")) return name;
  const code = type.replace(/[^\x20-\x7e]/g, "?").trim() || "no code";
  return name === undefined ? code : `${name} (${code})`;
}

/** The codec's name, or the object type as a number. */
export function nameObjectType(objectType: number): string {
  const name = OBJECT_TYPES[objectType];
  if (name !== undefined) return name;
  if (objectType === 0) return "no object type";
  return `object type 0x${objectType.toString(16).padStart(2, "0")}`;
}
