// Entry of the codec thread: loads codecs for the audio threads, 30 to 170 ms of work each, and plays nothing. It is
// started when the first of them is requested and ended soon after.

import { setFlagsFromString } from "node:v8";
import { parentPort } from "node:worker_threads";
import { compileWarmOpusEncoder } from "@tonearm/opus-encoder";
import type { CodecAnswer, CodecName, CodecRequest, LoadedCodec } from "../bridge/codec-request.ts";
import { messageOf } from "../lib/message-of.ts";
import { readWasmCodec } from "../lib/read-wasm-codec.ts";

// Modules are compiled as a whole here. Otherwise each function is compiled when it is first called, on the audio
// thread: 31 ms in the first call of the Opus encoder, 5 ms in that of the MP3 decoder. The flag applies to the whole
// process, but nothing else is as large.
setFlagsFromString("--no-wasm-lazy-compilation");

async function load(codec: CodecName): Promise<LoadedCodec> {
  if (codec === "encoder") return { kind: "encoder", module: compileWarmOpusEncoder() };
  return { kind: "wasm", wasm: await readWasmCodec(codec) };
}

async function answer({ requestId, codec }: CodecRequest): Promise<CodecAnswer> {
  try {
    return { requestId, loaded: await load(codec) };
  } catch (error) {
    return { requestId, failure: messageOf(error) };
  }
}

if (parentPort === null) throw new Error("media/codec-main.ts runs in a worker thread only");
const port = parentPort;
// The other end is our own main thread, compiled with the same contract.
port.on("message", (request) => void answer(request as CodecRequest).then((reply) => port.postMessage(reply)));
