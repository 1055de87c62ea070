import { MessageChannel } from "node:worker_threads";
import { expect, it } from "vitest";
import type { CodecAnswer, CodecRequest } from "../../../src/bridge/codec-request.ts";
import { readWasmCodec } from "../../../src/lib/read-wasm-codec.ts";
import { CodecModules } from "../../../src/media/decode/codec-modules.ts";
import { createDecoder } from "../../../src/media/decode/create-decoder.ts";
import { RemoteCodecs } from "../../../src/media/remote-codecs.ts";
import { readCodecFixture } from "../../support/codec-fixture.ts";
import { FakeClock } from "../../support/fake-clock.ts";

interface Far {
  readonly remote: RemoteCodecs;
  readonly clock: FakeClock;
  readonly requests: string[];
}

/** The other end answers as the test says; undefined: not at all. */
function start(answer: (request: CodecRequest) => Promise<CodecAnswer | undefined>): Far {
  const { port1, port2 } = new MessageChannel();
  const requests: string[] = [];
  port1.on("message", async (request: CodecRequest) => {
    requests.push(request.codec);
    const reply = await answer(request);
    if (reply !== undefined) port1.postMessage(reply);
  });
  port1.unref();
  const clock = new FakeClock();
  return { remote: new RemoteCodecs(port2, clock), clock, requests };
}

it.each(["mp3", "flac", "vorbis"] as const)(
  "a codec compiled on another thread decodes %s to the same audio",
  async (codec) => {
    const { remote, requests } = start(async ({ requestId }) => {
      return { requestId, loaded: { kind: "wasm", wasm: await readWasmCodec(codec) } };
    });
    const { stream, packets } = readCodecFixture(codec);
    const here = await createDecoder(stream);
    const there = await createDecoder(stream, { modules: new CodecModules(remote), isComplete: true });
    for (const packet of packets.slice(0, 5)) expect(await there.decode(packet)).toEqual(await here.decode(packet));
    expect(requests).toEqual([codec]);
  },
);

it("a codec that could not be loaded elsewhere is loaded here", async () => {
  const { remote } = start(async ({ requestId }) => ({ requestId, failure: "the thread ended" }));
  expect((await remote.readWasm("vorbis")).exportNames).toHaveProperty("_decode_packets");
});

it("a codec that does not come in time is loaded here", async () => {
  const { remote, clock, requests } = start(async () => undefined);
  const loading = remote.readWasm("flac");
  while (requests.length === 0) await new Promise((next) => setImmediate(next));
  clock.advance(3000);
  expect((await loading).exportNames).toHaveProperty("_decode_frame");
});

it("a failure to load is not cached", async () => {
  let count = 0;
  const modules = new CodecModules({
    readWasm: async (name) => {
      count += 1;
      if (count === 1) throw new Error("not now");
      return readWasmCodec(name);
    },
    readEncoder: () => Promise.reject(new Error("not here")),
  });
  await expect(modules.libopus("decode").load()).rejects.toThrow("not now");
  await expect(modules.libopus("decode").load()).resolves.toBeDefined();
  expect(await modules.libopus("decode").load()).toBe(await modules.libopus("decode").load());
  expect(await modules.libopus("encode").load()).not.toBe(await modules.libopus("decode").load());
  expect(count).toBe(2);
});
