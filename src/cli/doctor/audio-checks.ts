// The doctor's checks of what playback needs: every codec, both kinds of encryption, a punctual clock. The media
// modules are imported one by one when a check runs, so that one broken part does not hide the others. Main thread.

import { createCipheriv } from "node:crypto";
import { NodeError } from "../../errors.ts";
import { Histogram } from "../../lib/histogram.ts";
import { FRAME_MS } from "../../media/format/audio-format.ts";
import type { AudioStream } from "../../media/format/packet.ts";
import type { Check, CheckResult } from "./check.ts";

/** Enough samples to distinguish the 99th percentile from the maximum. */
const TICKS = 100;
/** An idle machine stays below this: docs/benchmarks.md has the measured values. */
const LATENESS_P99_GOOD_MS = 5;

const LOADED: CheckResult = { status: "ok", found: "the decoder loads" };

/** Without Opus there is no audio at all; the other codecs cost only the formats that use them. */
export const opusCheck: Check = {
  name: "Opus",
  async run() {
    const { loadLibopus } = await import("../../media/opus/libopus.ts");
    await loadLibopus();
    return { status: "ok", found: "the library loads" };
  },
};

/** The built-in encoder. When it fails, libopus replaces it. */
export const encoderCheck: Check = {
  name: "encoder",
  async run() {
    const { compileOpusEncoder } = await import("@tonearm/opus-encoder");
    try {
      compileOpusEncoder();
    } catch (error) {
      const advice = "libopus replaces it, at three times the CPU: install Tonearm again, or use a CPU with SIMD";
      return { status: "warn", found: `it does not load: ${(error as Error).message}`, advice };
    }
    return { status: "ok", found: "Tonearm's own loads" };
  },
};

/** A decoder that loads, or the warning that files of this kind will not play. */
export function decoderCheck(name: string, stream: AudioStream): Check {
  return {
    name,
    async run() {
      const { createDecoder } = await import("../../media/decode/create-decoder.ts");
      try {
        const decoder = await createDecoder(stream, { isComplete: true });
        decoder.close();
      } catch (error) {
        if (error instanceof NodeError && error.code === "codec-unavailable") return unavailable(name, error);
        throw error;
      }
      return LOADED;
    },
  };
}

/** Loads the package itself, because our decoder does nothing before it has the headers of a real stream. */
export const vorbisCheck: Check = {
  name: "Vorbis",
  async run() {
    const [{ readWasmCodec }, { startWasmCodec }] = await Promise.all([
      import("../../lib/read-wasm-codec.ts"),
      import("../../lib/wasm-codec.ts"),
    ]);
    startWasmCodec(await readWasmCodec("vorbis"));
    return LOADED;
  },
};

export const daveCheck: Check = {
  name: "DAVE",
  async run() {
    const { DAVE_PROTOCOL_VERSION, DAVESession } = await import("@snazzah/davey");
    const session = new DAVESession(DAVE_PROTOCOL_VERSION, "1", "2");
    const sizeBytes = session.getSerializedKeyPackage().length;
    return { status: "ok", found: `version ${DAVE_PROTOCOL_VERSION}, made a key package of ${sizeBytes} bytes` };
  },
};

export const encryptionCheck: Check = {
  name: "encryption",
  async run() {
    const { default: sodium } = await import("libsodium-wrappers");
    await sodium.ready;
    const [key, nonce] = [new Uint8Array(32), new Uint8Array(24)];
    sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(new Uint8Array(20), null, null, nonce, key);
    createCipheriv("aes-256-gcm", key, nonce.subarray(0, 12)).final();
    return { status: "ok", found: "xchacha20-poly1305 and aes-256-gcm work" };
  },
};

/**
 * The lateness of a thread that this machine should wake every 20 ms, over two seconds. `measure` is replaced in tests;
 * it resolves with the lateness of each tick in milliseconds.
 */
export function clockCheck(measure: () => Promise<readonly number[]> = measureLateness): Check {
  return {
    name: "clock",
    async run() {
      const lateness = new Histogram({ widthMs: 0.1, buckets: 1000 });
      for (const lateMs of await measure()) lateness.add(lateMs);
      const p99Ms = lateness.quantile(0.99);
      const [atMost, latest] = [p99Ms.toFixed(1), lateness.max.toFixed(1)];
      const found = `99 of 100 ticks of 20 ms are at most ${atMost} ms late, the latest ${latest} ms`;
      if (p99Ms <= LATENESS_P99_GOOD_MS) return { status: "ok", found };
      return { status: "warn", found, advice: "the machine is busy or throttled; audio may stutter" };
    },
  };
}

async function measureLateness(): Promise<number[]> {
  const latenessMs: number[] = [];
  const startMs = performance.now();
  for (let tick = 1; tick <= TICKS; tick++) {
    const dueMs = startMs + tick * FRAME_MS;
    await wakeAt(dueMs);
    latenessMs.push(performance.now() - dueMs);
  }
  return latenessMs;
}

function wakeAt(dueMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, Math.max(0, dueMs - performance.now()));
  });
}

function unavailable(name: string, { message }: NodeError): CheckResult {
  return { status: "warn", found: message, advice: `${name} will not play; install without --omit=optional` };
}
