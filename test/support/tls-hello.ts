// Reads what a TLS client offers a server, from the first record it sends (RFC 8446 section 4.1.2).

/** Extension numbers. */
export const SUPPORTED_GROUPS = 10;
export const SERVER_NAME = 0;

export interface Hello {
  readonly suites: readonly number[];
  readonly extensions: ReadonlyMap<number, Buffer>;
}

/** `record` with the headers of record and handshake. */
export function readHello(record: Buffer): Hello {
  let at = 5 + 4 + 2 + 32;
  at += 1 + record.readUInt8(at);
  const suitesEnd = at + 2 + record.readUInt16BE(at);
  const suites = readNumbers(record.subarray(at + 2, suitesEnd));
  at = suitesEnd + 1 + record.readUInt8(suitesEnd) + 2;
  const extensions = new Map<number, Buffer>();
  while (at < record.length) {
    const end = at + 4 + record.readUInt16BE(at + 2);
    extensions.set(record.readUInt16BE(at), record.subarray(at + 4, end));
    at = end;
  }
  return { suites, extensions };
}

/** 16 bits each. */
export function readNumbers(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length / 2 }, (_, index) => bytes.readUInt16BE(index * 2));
}
