// The exports of the package. README.md has an example.

export { OpusEncoder, type OpusEncoderOptions } from "./encoder.ts";
export type { FrameHead } from "./frame-head.ts";
export { compileOpusEncoder, compileWarmOpusEncoder, OpusEncoderKernel } from "./kernel.ts";
export { ENCODER_DELAY_SAMPLES, FRAME_SAMPLES, PACKET_BYTES_MAX, SAMPLE_RATE_HZ } from "./numbers.ts";
export type { WasmModule } from "./web-assembly.ts";
