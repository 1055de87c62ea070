// The real probe thread, which misbehaves in the middle of a probe when the query of its address says so. Needs dist.

import { TrackOpener } from "../../../dist/src/media/probe/track-opener.js";

const DEEDS = {
  hang: () => {
    for (;;);
  },
  exit: () => process.exit(1),
  "fill-heap": () => {
    for (const heap = []; ; ) heap.push(new Array(100_000).fill(heap.length));
  },
  throw: () => {
    throw new Error("thrown on order");
  },
};

const { probe } = TrackOpener.prototype;
TrackOpener.prototype.probe = async function (input, work) {
  const result = await probe.call(this, input, work);
  const deed = DEEDS[new URL(input.url).searchParams.get("deed")];
  if (deed === undefined) return result;
  return new Promise(() => setTimeout(deed)); // not awaited: from an unrelated timer, the hardest case for attribution
};
await import("../../../dist/src/media/probe-main.js");
