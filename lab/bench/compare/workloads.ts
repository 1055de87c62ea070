// All workloads of `npm run bench -- compare`, in the order in which they run.

import { coldStarts, firstPacket, reconnects, seeks, starts } from "./changes.ts";
import { requests } from "./requests.ts";
import { quietly, type Workload } from "./workload.ts";

const FILTERS = {
  equalizer: [0.2, 0.15, 0.1, 0.05, 0.02].map((gain, band) => ({ band, gain })),
  timescale: { speed: 1.1, pitch: 1.1, rate: 1 },
  tremolo: { frequency: 2, depth: 0.3 },
  rotation: { rotationHz: 0.2 },
};

export const WORKLOADS: readonly Workload[] = [
  {
    name: "idle",
    detail: "a fresh node, left idle",
    players: 0,
    isFresh: true,
    isSteady: false,
    prepare: async (scene) => quietly(scene),
  },
  playing("passthrough", { file: "song.webm", players: 200, detail: "WebM-Opus, unchanged" }),
  playing("mp3", { file: "song.mp3", players: 20, detail: "MP3, 44.1 kHz" }),
  playing("aac", { file: "song.m4a", players: 20, detail: "AAC in MP4, 44.1 kHz" }),
  playing("flac", { file: "song.flac", players: 20, detail: "FLAC, 44.1 kHz" }),
  playing("volume", { file: "song.webm", players: 20, detail: "WebM-Opus at volume 50", further: { volume: 50 } }),
  {
    name: "one-song",
    detail: "WebM-Opus at volume 50, the same track in all players",
    players: 100,
    isSteady: true,
    async prepare(scene) {
      await scene.crowd.playTogether("song.webm", scene.players, { volume: 50 });
      return quietly(scene);
    },
  },
  playing("filters", {
    file: "song.webm",
    players: 10,
    detail: "WebM-Opus with equalizer, timescale, tremolo and rotation",
    further: { filters: FILTERS },
  }),
  firstPacket,
  starts,
  coldStarts,
  seeks,
  reconnects,
  requests,
];

function playing(
  name: string,
  song: { readonly file: string; readonly players: number; readonly detail: string; readonly further?: object },
): Workload {
  return {
    name,
    detail: song.detail,
    players: song.players,
    isSteady: true,
    async prepare(scene) {
      await scene.crowd.play(song.file, scene.players, song.further);
      return quietly(scene);
    },
  };
}
