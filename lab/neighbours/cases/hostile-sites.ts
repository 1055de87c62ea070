// Links to sites that do not answer as they should: titles after every byte, redirects without end, lengths that are lies.

import { type AnswerPlan, plainPlan, statusPlan } from "../../media-server/answer-plan.ts";
import { concat, repeat } from "../bytes.ts";
import { AAC_SILENCE, adtsFrame, mp3Frame } from "../containers.ts";
import { type HostileLayer, playsSite } from "../hostile-case.ts";

const MP3 = repeat(mp3Frame(), 2000);

/** The body in blocks, over and over. */
async function* endlessly(block: Uint8Array): AsyncGenerator<Uint8Array> {
  for (;;) yield block;
}

function stream(body: AsyncIterable<Uint8Array>, headers: Readonly<Record<string, string>> = {}): AnswerPlan {
  const plan = plainPlan(new Uint8Array(0), "audio/mpeg");
  return { ...plan, headers: { ...plan.headers, ...headers }, body, framing: "close", acceptsRanges: false };
}

/** A byte of sound, a byte that says there is no title, and so on. */
function titlesEverywhere(): Uint8Array {
  const block = new Uint8Array(MP3.length * 2);
  for (let index = 0; index < MP3.length; index++) block[index * 2] = MP3[index]!;
  return block;
}

export const hostileSites: HostileLayer = {
  layer: "site",
  cases: [
    playsSite(
      "icy-metaint-1",
      "a radio station with icy-metaint: 1",
      () => stream(endlessly(titlesEverywhere()), { "icy-metaint": "1" }),
      { isQuick: true },
    ),
    playsSite("redirect-loop", "a link that leads to itself", ({ path }) => statusPlan(302, { location: path })),
    playsSite("length-too-large", "a Content-Length of a terabyte for 400 kB, then nothing", () => ({
      ...plainPlan(MP3, "audio/mpeg"),
      headers: { "content-type": "audio/mpeg", "content-length": "1000000000000" },
      acceptsRanges: false,
    })),
    playsSite(
      "adts-endless",
      "an endless stream of frames of silence, as fast as it is taken",
      () =>
        stream(endlessly(concat(...Array<Uint8Array>(5000).fill(adtsFrame(AAC_SILENCE)))), {
          "content-type": "audio/aac",
        }),
      { path: "a.aac" },
    ),
  ],
};
