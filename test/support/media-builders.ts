// Builds containers by hand for demuxer tests: ID3 tags, MP3 frames, Ogg pages, EBML elements, MP4 boxes.

export function ascii(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, "latin1"));
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}

/** A number as `count` bytes, big-endian. */
export function be(value: number, count: number): Uint8Array {
  return Uint8Array.from({ length: count }, (_, index) => Math.floor(value / 256 ** (count - 1 - index)) % 256);
}

export function le(value: number, count: number): Uint8Array {
  return be(value, count).reverse();
}

/** An ID3v2 tag around frames that are ready. */
export function id3Tag(version: number, flags: number, frames: Uint8Array): Uint8Array {
  const size = [21, 14, 7, 0].map((shift) => (frames.length >> shift) & 0x7f);
  return concat(ascii("ID3"), Uint8Array.of(version, 0, flags, ...size), frames);
}

/**
 * Layer III frames of MPEG 1 without sound, each at a constant bit rate: exactly `sizeBytes` in all, the last one cut
 * off. Padding is spread as encoders do it.
 */
export function mp3Frames(options: { kbps: number; rateHz: 44100 | 48000; sizeBytes: number }): Uint8Array {
  const bitrateIndex = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320].indexOf(options.kbps);
  const rateIndex = options.rateHz === 44_100 ? 0 : 1;
  const exactBytes = (144_000 * options.kbps) / options.rateHz;
  const bytes = new Uint8Array(options.sizeBytes + 2000);
  let at = 0;
  for (let frame = 1; at < options.sizeBytes; frame++) {
    const sizeBytes = Math.floor(frame * exactBytes) - at;
    const padding = sizeBytes > Math.floor(exactBytes) ? 2 : 0;
    bytes.set([0xff, 0xfb, (bitrateIndex << 4) | (rateIndex << 2) | padding, 0], at);
    at += sizeBytes;
  }
  return bytes.slice(0, options.sizeBytes);
}

/** An Ogg page with a right checksum. */
export function oggPage(page: {
  serial: number;
  sequence: number;
  granule: number;
  flags: number;
  packets: readonly Uint8Array[];
  /** The start of a packet that goes on in the next page; a multiple of 255 bytes long. */
  unfinished?: Uint8Array;
}): Uint8Array {
  const rest = page.unfinished ?? new Uint8Array(0);
  const sizes = page.packets.flatMap(({ length }) => [
    ...Array<number>(Math.floor(length / 255)).fill(255),
    length % 255,
  ]);
  sizes.push(...Array<number>(rest.length / 255).fill(255));
  const head = concat(
    ...[
      ascii("OggS"),
      Uint8Array.of(0, page.flags),
      granuleBytes(page.granule),
      le(page.serial, 4),
      le(page.sequence, 4),
    ],
    ...[le(0, 4), Uint8Array.of(sizes.length, ...sizes)],
  );
  const bytes = concat(head, ...page.packets, rest);
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 24;
    for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc & 0x80000000 ? 0x04c11db7 : 0);
  }
  bytes.set(le(crc >>> 0, 4), 22);
  return bytes;
}

/** -1 says that no packet ends on the page. */
function granuleBytes(granule: number): Uint8Array {
  return granule < 0 ? new Uint8Array(8).fill(0xff) : le(granule, 8);
}

/** The two header packets of a stereo Opus stream with 312 samples of pre-skip. */
export function opusHeaders(): readonly [Uint8Array, Uint8Array] {
  const head = concat(ascii("OpusHead"), Uint8Array.of(1, 2), le(312, 2), le(48_000, 4), le(0, 3));
  return [head, concat(ascii("OpusTags"), le(0, 8))];
}

/** A 20 ms Opus packet that carries its number. */
export function opusPacket(number: number, sizeBytes = 100): Uint8Array {
  const packet = new Uint8Array(sizeBytes).fill(0x55);
  packet.set([0xfc, ...be(number, 4)]);
  return packet;
}

export function opusPacketNumber(packet: Uint8Array): number {
  return packet.subarray(1, 5).reduce((value, byte) => value * 256 + byte, 0);
}

/** An EBML element; the size is written in eight bytes, or as unknown. */
export function ebml(id: number, body: Uint8Array, isSizeKnown = true): Uint8Array {
  const idBytes = id > 0xffffff ? 4 : id > 0xffff ? 3 : id > 0xff ? 2 : 1;
  const size = isSizeKnown
    ? concat(Uint8Array.of(0x01), be(body.length, 7))
    : Uint8Array.of(0x01, ...Array(7).fill(255));
  return concat(be(id, idBytes), size, body);
}

export function box(type: string, ...bodies: readonly Uint8Array[]): Uint8Array {
  const body = concat(...bodies);
  return concat(be(body.length + 8, 4), ascii(type), body);
}
