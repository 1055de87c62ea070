// Parses the `endpoint` of a client's voice object into the gateway's address. First step of connecting to Discord, on
// the audio thread. The text comes from a client and is never trusted; a bad one yields undefined.

import { isIP, isIPv6 } from "node:net";

/** discord-voice.md section 1.2: version 8 has sequence numbers and server-side buffering. */
const GATEWAY_VERSION = 8;
const DEFAULT_PORT = 443;
const HOST_LENGTH_MAX = 253;

interface VoiceEndpoint {
  /** A host name or an IP address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

/**
 * Parses `host`, `host:port` or `[v6]:port`, with or without a scheme in front or a path behind. The port defaults to
 * 443. Undefined for any other text.
 */
export function parseVoiceEndpoint(endpoint: string): VoiceEndpoint | undefined {
  const authority = endpoint
    .trim()
    .replace(/^[a-z][a-z0-9+.-]*:\/\//i, "")
    .replace(/[/?#].*$/s, "");
  if (isIPv6(authority)) return { host: authority, port: DEFAULT_PORT };
  const parts = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::(\d{1,5}))?$/i.exec(authority);
  if (parts === null) return undefined;
  const [, bracketed, plain, portText] = parts;
  const port = portText === undefined ? DEFAULT_PORT : Number(portText);
  if (port < 1 || port > 65_535) return undefined;
  if (bracketed !== undefined) return isIPv6(bracketed) ? { host: bracketed, port } : undefined;
  if (plain === undefined || plain.length > HOST_LENGTH_MAX) return undefined;
  return { host: plain, port };
}

/** The WebSocket URL of the voice gateway at `endpoint`. */
export function gatewayUrl(endpoint: VoiceEndpoint, scheme: "wss" | "ws"): string {
  const host = isIP(endpoint.host) === 6 ? `[${endpoint.host}]` : endpoint.host;
  return `${scheme}://${host}:${endpoint.port}/?v=${GATEWAY_VERSION}`;
}
