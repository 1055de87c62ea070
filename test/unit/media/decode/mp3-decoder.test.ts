import { expect, test } from "vitest";
import { mp3Frame } from "../../../../lab/media-files/containers.ts";
import { createDecoder } from "../../../../src/media/decode/create-decoder.ts";
import { readCodecFixture } from "../../../support/codec-fixture.ts";

const { stream, packets } = readCodecFixture("mp3");

test("an MP3 frame whose first part was in a lost one is silence that is marked as concealed", async () => {
  const decoder = await createDecoder(stream, { isComplete: true });
  const blocks = [...packets.slice(0, 4), new Uint8Array(417), ...packets.slice(5, 8)].map((packet) => {
    const { lengthSamples, isConcealed } = decoder.decode(packet) as Exclude<
      ReturnType<typeof decoder.decode>,
      Promise<unknown>
    >;
    return [lengthSamples, isConcealed === true];
  });
  const heard = [1152, false];
  expect(blocks).toEqual([heard, heard, heard, heard, [0, false], [1152, true], heard, heard]);
  decoder.close();
});

test("silence that was encoded as MP3 is audio", async () => {
  const decoder = await createDecoder(stream);
  expect(await decoder.decode(mp3Frame())).toMatchObject({ lengthSamples: 1152, isConcealed: false });
  decoder.close();
});
