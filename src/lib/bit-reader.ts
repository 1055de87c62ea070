// Reads bits of a byte array, most significant first. Past the end it reads zeros, and reports that afterwards. Has no
// domain knowledge.

/** The bytes are not copied. Never throws: a parser reads on, and checks `isPastEnd` once before it uses the result. */
export class BitReader {
  readonly #bytes: Uint8Array;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** True when more bits were read than there are. */
  get isPastEnd(): boolean {
    return this.#position > this.#bytes.length * 8;
  }

  /** Whole bytes that were read or begun, also behind the end. */
  get positionBytes(): number {
    return (this.#position + 7) >> 3;
  }

  /** The next 32 bits as an unsigned number, without moving on. */
  peek32(): number {
    const index = this.#position >> 3;
    const shift = this.#position & 7;
    const bytes = this.#bytes;
    const word =
      ((bytes[index] ?? 0) << 24) |
      ((bytes[index + 1] ?? 0) << 16) |
      ((bytes[index + 2] ?? 0) << 8) |
      (bytes[index + 3] ?? 0);
    return shift === 0 ? word >>> 0 : ((word << shift) | ((bytes[index + 4] ?? 0) >> (8 - shift))) >>> 0;
  }

  /** The next `count` bits (1 to 32) as an unsigned number. */
  read(count: number): number {
    const value = this.peek32() >>> (32 - count);
    this.#position += count;
    return value;
  }

  /** The next `count` bits (1 to 32) as a two's complement number. */
  readSigned(count: number): number {
    const value = this.peek32() >> (32 - count);
    this.#position += count;
    return value;
  }

  /** Moves on by `count` bits, 0 or more, also behind the end. */
  skip(count: number): void {
    this.#position += count;
  }

  /** Moves on to the next whole byte; stays where one begins. */
  alignToByte(): void {
    this.#position = (this.#position + 7) & ~7;
  }

  /** A second reader of the same bytes at the same position. */
  fork(): BitReader {
    const copy = new BitReader(this.#bytes);
    copy.#position = this.#position;
    return copy;
  }
}
