// The encoders that can be judged, by the names they have on the command line: `tonearm` is our own, `libopus:10`
// libopus at complexity 10. Lab only.

import { OpusEncoder } from "@tonearm/opus-encoder";
import type { FrameEncoder } from "../../src/media/encode/frame-encoder.ts";
import { OpusFrameEncoder } from "../../src/media/encode/opus-encoder.ts";
import { TonearmFrameEncoder } from "../../src/media/encode/tonearm-encoder.ts";

/** The requirements for an encoder: 48 kHz, frames of 20 ms, packets that stay valid through the next call. */
export interface JudgedEncoder extends Pick<FrameEncoder, "encode" | "makeNextIndependent" | "reset" | "close"> {
  /** Its range coder's state after the last packet, if it reports one: the decoder must arrive at the same. */
  readonly finalRange?: number;
}

/** An encoder ignores options that it does not support (libopus here: stereo and variable). */
export interface JudgedOptions {
  readonly bitrateBps: number;
  /** Default 2. */
  readonly channelCount?: 1 | 2;
  /** Default true. */
  readonly isVariable?: boolean;
}

/** Name and factory of a judged encoder. */
export interface EncoderKind {
  readonly name: string;
  create(options: JudgedOptions): Promise<JudgedEncoder>;
}

type Maker = (options: JudgedOptions, complexity: number) => Promise<JudgedEncoder>;

/** Add an encoder as a line here. */
const MAKERS: Readonly<Record<string, Maker>> = {
  tonearm: async (options) => new TonearmFrameEncoder(OpusEncoder.create(options)),
  libopus: ({ bitrateBps }, complexity) => OpusFrameEncoder.create({ bitrateBps, complexity }),
};

/** `NAME` or `NAME:COMPLEXITY` (0 to 10, default 10). Throws for an unknown name. */
export function encoderKindOf(name: string): EncoderKind {
  const [, maker = "", digits = "10"] = /^([a-z-]+)(?::(\d+))?$/.exec(name) ?? [];
  const make = Object.hasOwn(MAKERS, maker) ? MAKERS[maker] : undefined;
  const complexity = Number(digits);
  if (make === undefined || complexity > 10) {
    throw new Error(
      `no encoder is called "${name}"; there are ${Object.keys(MAKERS).join(", ")}; libopus with :0 to :10`,
    );
  }
  return { name, create: (options) => make(options, complexity) };
}
