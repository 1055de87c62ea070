// Links to files whose sample rate or channels are invalid, or change all the time: tests the path between decoder and
// resampler.

import { ascii, be, concat, le } from "../../media-files/bytes.ts";
import { cluster, ebml, flacFrame, flacHead, matroskaHead, simpleBlock, wav } from "../../media-files/containers.ts";
import { type HostileLayer, playsFile } from "../harness/hostile-case.ts";

const NOISE = Uint8Array.from({ length: 4096 }, (_, index) => (index * 7919 + (index >> 3) * 104_729) & 0xff);

/** Frames of 16 samples, each with another prime rate. */
function primeRateFlac(): Uint8Array {
  const primes = primesBetween(1009, 65_535);
  const frames = Array.from({ length: 20_000 }, (_, index) => flacFrame(index, 16, primes[index % primes.length]));
  return concat(flacHead({ rateHz: 44_100, blockSamples: 16 }), ...frames);
}

function primesBetween(from: number, to: number): number[] {
  const isComposite = new Uint8Array(to + 1);
  for (let factor = 2; factor * factor <= to; factor++) {
    for (let multiple = factor * factor; multiple <= to; multiple += factor) isComposite[multiple] = 1;
  }
  return Array.from({ length: to - from }, (_, index) => from + index).filter((value) => isComposite[value] === 0);
}

function matroskaPcm(rateHz: number, channels = 2): Uint8Array {
  const head = matroskaHead({ codec: "A_PCM/INT/LIT", rateHz, channels, bitsPerSample: 16, docType: "matroska" });
  return concat(head, ...Array.from({ length: 50 }, (_, at) => cluster(at * 20, [simpleBlock(0, NOISE)])));
}

function waveExtensible(rateHz: number): Uint8Array {
  const format = concat(le(0xfffe, 2), le(2, 2), le(rateHz, 4), le(rateHz * 4, 4), le(4, 2), le(16, 2), le(22, 2));
  const extension = concat(
    le(16, 2),
    le(3, 4),
    le(1, 2),
    Uint8Array.from(Buffer.from("000000001000800000aa00389b71", "hex")),
  );
  return concat(
    ...[ascii("RIFF"), le(0xffffffff, 4), ascii("WAVEfmt "), le(40, 4), format, extension],
    ...[ascii("data"), le(NOISE.length, 4), NOISE],
  );
}

/** In the middle of the segment a second Tracks element with another rate. */
function changingTracks(): Uint8Array {
  const audio = (rateHz: number) => {
    const rate = Buffer.alloc(8);
    rate.writeDoubleBE(rateHz);
    return ebml(0x1654ae6b, ebml(0xae, concat(ebml(0xd7, be(1, 1)), ebml(0xe1, ebml(0xb5, rate)))));
  };
  const head = matroskaHead({ codec: "A_PCM/INT/LIT", rateHz: 48_000, channels: 2, bitsPerSample: 16 });
  return concat(head, cluster(0, [simpleBlock(0, NOISE)]), audio(3), cluster(20, [simpleBlock(0, NOISE)]));
}

export const rateLinks: HostileLayer = {
  layer: "rate",
  cases: [
    playsFile("wav-rate-999", "WAV of 4 kB at 999 Hz", () => wav({ rateHz: 999, data: NOISE }), {
      fileName: "a.wav",
      isQuick: true,
    }),
    playsFile("wav-rate-1", "WAV of 4 kB at 1 Hz", () => wav({ rateHz: 1, data: NOISE }), { fileName: "a.wav" }),
    playsFile("wav-rate-0", "WAV at 0 Hz", () => wav({ rateHz: 0, data: NOISE }), { fileName: "a.wav" }),
    playsFile("wav-rate-max", "WAV at 4,294,967,295 Hz", () => wav({ rateHz: 2 ** 32 - 1, data: NOISE }), {
      fileName: "a.wav",
    }),
    playsFile(
      "wav-rate-prime",
      "WAV at 767,857 Hz, a prime: a large filter table",
      () => wav({ rateHz: 767_857, data: NOISE }),
      { fileName: "a.wav" },
    ),
    playsFile("wav-extensible-rate-7", "WAVE_FORMAT_EXTENSIBLE at 7 Hz", () => waveExtensible(7), {
      fileName: "a.wav",
    }),
    playsFile(
      "wav-channels-65535",
      "WAV with 65,535 channels",
      () => wav({ rateHz: 44_100, channels: 65_535, data: NOISE }),
      { fileName: "a.wav" },
    ),
    playsFile("wav-channels-0", "WAV without a channel", () => wav({ rateHz: 44_100, channels: 0, data: NOISE }), {
      fileName: "a.wav",
    }),
    playsFile(
      "wav-float64-nan",
      "WAV of 64-bit floats that are all NaN",
      () => wav({ rateHz: 48_000, format: 3, bitsPerSample: 64, data: new Uint8Array(96_000).fill(0xff) }),
      {
        fileName: "a.wav",
      },
    ),
    playsFile(
      "flac-rate-1",
      "FLAC with 1 Hz in STREAMINFO",
      () => concat(flacHead({ rateHz: 1 }), ...Array.from({ length: 200 }, (_, index) => flacFrame(index, 4096))),
      {
        fileName: "a.flac",
      },
    ),
    playsFile("flac-prime-rates", "FLAC with another prime rate in each 16-sample frame", primeRateFlac, {
      fileName: "a.flac",
      isQuick: true,
    }),
    playsFile("mkv-pcm-rate-7", "Matroska PCM at 7 Hz", () => matroskaPcm(7), { fileName: "a.mka" }),
    playsFile("mkv-pcm-rate-nan", "Matroska PCM at NaN Hz", () => matroskaPcm(Number.NaN), { fileName: "a.mka" }),
    playsFile("mkv-pcm-rate-minus", "Matroska PCM at -48,000 Hz", () => matroskaPcm(-48_000), { fileName: "a.mka" }),
    playsFile("mkv-pcm-channels-255", "Matroska PCM with 255 channels", () => matroskaPcm(48_000, 255), {
      fileName: "a.mka",
    }),
    playsFile("mkv-tracks-change", "Matroska with a second Tracks element, at 3 Hz", changingTracks, {
      fileName: "a.mka",
    }),
  ],
};
