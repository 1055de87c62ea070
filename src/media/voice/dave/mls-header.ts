// Parses the first bytes of MLS messages (discord-voice.md sections 3.9 and 4.4), so that late, repeated and foreign
// ones are filtered out before they reach the MLS library. Between gateway and DAVE session, on the audio thread.

/** Up to the epoch; an MLSMessage that holds a PublicMessage of a Discord group. */
const HEADER_BYTES = 21;

interface MlsHeader {
  /** The channel id. */
  readonly groupId: bigint;
  readonly epoch: bigint;
}

/** `00 01` mls10, `00 01` public message, `08` + group id u64, epoch u64. Undefined for anything else. */
export function readMlsHeader(message: Buffer): MlsHeader | undefined {
  if (message.length < HEADER_BYTES || message.readUInt32BE(0) !== 0x0001_0001 || message[4] !== 8) return undefined;
  return { groupId: message.readBigUInt64BE(5), epoch: message.readBigUInt64BE(13) };
}

/** The header of the first message in an MLS vector: 1, 2 or 4 bytes of length, its top bits telling which. */
export function readFirstMlsHeader(vector: Buffer): MlsHeader | undefined {
  const first = vector[0];
  if (first === undefined || first >= 0xc0) return undefined;
  return readMlsHeader(vector.subarray(first < 0x40 ? 1 : first < 0x80 ? 2 : 4));
}
