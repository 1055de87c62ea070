// The real probe thread, which misbehaves in the middle of a look-up when the query of its address says so. Needs
// dist.

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
  return new Promise(() => setTimeout(deed)); // no wait: from a timer that nobody minds, the worst place to be found in
};
await import("../../../dist/src/media/probe-main.js");
