// Several packets in one run of bytes, in the manner of Xiph: blocks of Matroska (RFC 9559 section 10.3.3), and the
// three headers of Vorbis, which are its set-up data (`AudioStream.description`), as in Matroska's CodecPrivate.
// Between container and decoder. Audio thread, and the probe thread.
//
//   packet count less 1 (one byte) | sizes of all packets but the last | the packets
//
// where a size is bytes of 255, and one less than that.

/** Sizes of all packets but the last, which takes the rest, and where the packets start; bytes. */
export interface Laces {
  readonly sizes: readonly number[];
  readonly start: number;
}

/** Undefined when the bytes end before the sizes do, or hold less than the sum of the sizes. */
export function readXiphLaces(bytes: Uint8Array): Laces | undefined {
  const furtherCount = bytes[0];
  if (furtherCount === undefined) return undefined;
  const sizes: number[] = [];
  let sumBytes = 0;
  let at = 1;
  while (sizes.length < furtherCount) {
    let size = 0;
    let byte = 255;
    // A length beyond the bytes there is not counted to its end.
    while (byte === 255 && sumBytes + size <= bytes.length) {
      const next = bytes[at++];
      if (next === undefined) return undefined;
      byte = next;
      size += byte;
    }
    sumBytes += size;
    if (sumBytes > bytes.length) return undefined;
    sizes.push(size);
  }
  return { sizes, start: at };
}

/** The packets, empty ones among them; undefined as for `readXiphLaces`. They share their bytes with the input. */
export function splitXiphLaced(bytes: Uint8Array): Uint8Array[] | undefined {
  const laces = readXiphLaces(bytes);
  if (laces === undefined) return undefined;
  const packets: Uint8Array[] = [];
  let at = laces.start;
  for (const size of laces.sizes) {
    packets.push(bytes.subarray(at, at + size));
    at += size;
  }
  if (at > bytes.length) return undefined;
  packets.push(bytes.subarray(at));
  return packets;
}

/** Joins 1 to 256 packets into one run of bytes, which `splitXiphLaced` splits again. */
export function joinXiphLaced(packets: readonly Uint8Array[]): Uint8Array {
  const sizes = packets.slice(0, -1).flatMap(({ length }) => {
    const fullBytes = new Array<number>(Math.floor(length / 255)).fill(255);
    return [...fullBytes, length % 255];
  });
  return new Uint8Array(Buffer.concat([Uint8Array.of(packets.length - 1, ...sizes), ...packets]));
}
