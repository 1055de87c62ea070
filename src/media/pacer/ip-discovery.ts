// The two packets of IP discovery (discord-voice.md section 1.8): we ask the voice server which address it sees us
// under. First use of the UDP socket, on the pacer thread.

import { isIP } from "node:net";

const PACKET_BYTES = 74;
const REQUEST_TYPE = 1;
const RESPONSE_TYPE = 2;
/** Everything after type and length. */
const BODY_BYTES = 70;
const ADDRESS_START = 8;
const PORT_START = 72;

export interface ExternalAddress {
  readonly address: string;
  readonly port: number;
}

/** `00 01`, `00 46`, our SSRC, 66 zero bytes: newer servers refuse anything but zeros there. */
export function encodeDiscoveryRequest(ssrc: number): Buffer {
  const packet = Buffer.alloc(PACKET_BYTES);
  packet.writeUInt16BE(REQUEST_TYPE, 0);
  packet.writeUInt16BE(BODY_BYTES, 2);
  packet.writeUInt32BE(ssrc, 4);
  return packet;
}

/** Parses the discovery response. Undefined for any other packet (audio and RTCP may arrive already). */
export function parseDiscoveryResponse(packet: Uint8Array): ExternalAddress | undefined {
  if (packet.length !== PACKET_BYTES) return undefined;
  const bytes = Buffer.from(packet.buffer, packet.byteOffset, packet.byteLength);
  if (bytes.readUInt16BE(0) !== RESPONSE_TYPE || bytes.readUInt16BE(2) !== BODY_BYTES) return undefined;
  const field = bytes.subarray(ADDRESS_START, PORT_START);
  const end = field.indexOf(0);
  const address = field.toString("latin1", 0, end === -1 ? field.length : end);
  return isIP(address) === 0 ? undefined : { address, port: bytes.readUInt16BE(PORT_START) };
}
