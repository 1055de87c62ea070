// The real audio worker, in which reading an input hangs once, half way: a promise that is never settled. Needs dist.

import { HttpByteSource } from "../../../dist/src/media/input/http-byte-source.js";

const HANGS_AT_BYTES = 70 * 1024;
const { read, readBuffered } = HttpByteSource.prototype;
let hasHung = false;

HttpByteSource.prototype.readBuffered = function (positionBytes, lengthBytes) {
  const isDue = !hasHung && positionBytes >= HANGS_AT_BYTES;
  return isDue ? undefined : readBuffered.call(this, positionBytes, lengthBytes);
};
HttpByteSource.prototype.read = function (positionBytes, lengthBytes) {
  if (hasHung || positionBytes < HANGS_AT_BYTES) return read.call(this, positionBytes, lengthBytes);
  hasHung = true;
  return new Promise(() => undefined);
};
await import("../../../dist/src/media/main.js");
