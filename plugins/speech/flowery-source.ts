// `ftts://`: flowery.pw reads a text out, in some hundred voices. The link says all, and holds no secret. Plugin
// thread.

import {
  type LoadRequest,
  type Playable,
  type ResolveRequest,
  type SourceAnswer,
  SourceError,
} from "../../src/plugin-api/plugin.ts";
import { type FloweryRequest, readFloweryIdentifier } from "./flowery-identifier.ts";

interface FloweryOptions {
  readonly isEnabled: boolean;
  /** Undefined: the site's own. */
  readonly voice: string | undefined;
  readonly translate: boolean;
  /** Milliseconds. */
  readonly silence: number;
  readonly speed: number;
  readonly audioFormat: string;
  /** Address of the server. */
  readonly server: string;
  /** Includes contact data of the node's operator. */
  readonly userAgent: string;
}

export class FlowerySource {
  readonly #options: FloweryOptions;

  constructor(options: FloweryOptions) {
    this.#options = options;
  }

  async load({ identifier }: LoadRequest): Promise<SourceAnswer | undefined> {
    const request = this.#options.isEnabled ? readFloweryIdentifier(identifier) : undefined;
    if (request === undefined) return undefined;
    if (request.text === "") return { kind: "empty" };
    const track = { identifier, title: request.text, author: "flowery-tts", isStream: false, uri: identifier };
    return { kind: "track", track };
  }

  async resolve({ track }: ResolveRequest): Promise<Playable> {
    const request = readFloweryIdentifier(track.identifier);
    if (request === undefined || request.text === "")
      throw new SourceError("invalid", "the track has no text to speak");
    return { kind: "link", url: this.#link(request), headers: { "user-agent": this.#options.userAgent } };
  }

  #link({ text, ...request }: FloweryRequest): string {
    const options = this.#options;
    const voice = request.voice ?? options.voice;
    const query = new URLSearchParams({
      text,
      ...(voice !== undefined && voice !== "" && { voice }),
      translate: String(request.translate ?? options.translate),
      silence: String(request.silence ?? options.silence),
      speed: String(request.speed ?? options.speed),
      audio_format: request.audioFormat ?? options.audioFormat,
    });
    return `${options.server}/v1/tts?${query}`;
  }
}
