// From the spectrum of a channel to audio: transforms, windows, and overlaps with the packet before. AssemblyScript, part
// of the AAC decoder; ISO 14496-3 section 4.6.11.

import {
  FRAME_SAMPLES,
  LINES_BYTE,
  LONG_WINDOWS_BYTE,
  SHORT_SAMPLES,
  SHORT_WINDOWS,
  SHORT_WINDOWS_BYTE,
  STATE_OVERLAP,
  STATE_SEQUENCE,
  STATE_SHAPE,
} from "../../numbers/aac.ts";
import { fact, LONG, SEQUENCE, SHAPE, SHORT, START, STOP } from "./channel.ts";
import { transformLong, transformShort } from "./cosine.ts";

const SHORT_BYTES: usize = 4 * SHORT_SAMPLES;
const HALF_SHORT_BYTES: usize = SHORT_BYTES / 2;
const HALF_BYTES: usize = 4 * (FRAME_SAMPLES / 2);
/** In the middle of a long window's half, short windows overlap; before, there is one value of the window. */
const FLAT_BYTES: usize = HALF_BYTES - HALF_SHORT_BYTES;

/** `state`: in and out, what the channel retains. `output`: 1024 samples. */
export function toSamples(channel: usize, spectrum: usize, state: usize, output: usize): void {
  const sequence = fact(channel, SEQUENCE);
  const before = load<i32>(state + STATE_SEQUENCE);
  const beforeShape = load<i32>(state + STATE_SHAPE);
  const overlap = state + STATE_OVERLAP;
  if (sequence === SHORT) {
    for (let window = 0; window < SHORT_WINDOWS; window++) {
      transformShort(spectrum + SHORT_BYTES * window, LINES_BYTE + SHORT_BYTES * window);
    }
  } else transformLong(spectrum, LINES_BYTE);
  // Other changes between long and short do not exist in valid streams.
  if ((before === LONG || before === STOP) && (sequence === LONG || sequence === START)) {
    join(output, overlap, LINES_BYTE, longWindow(beforeShape), HALF_BYTES);
  } else {
    memory.copy(output, overlap, FLAT_BYTES);
    join(output + FLAT_BYTES, overlap + FLAT_BYTES, LINES_BYTE, shortWindow(beforeShape), HALF_SHORT_BYTES);
    if (sequence !== SHORT) {
      memory.copy(output + FLAT_BYTES + SHORT_BYTES, LINES_BYTE + HALF_SHORT_BYTES, FLAT_BYTES);
    }
  }
  if (sequence === SHORT) joinShort(output + FLAT_BYTES, overlap, shortWindow(fact(channel, SHAPE)));
  else {
    memory.copy(overlap, LINES_BYTE + HALF_BYTES, HALF_BYTES);
    if (sequence === START)
      memory.copy(overlap + FLAT_BYTES, LINES_BYTE + 2 * HALF_BYTES - HALF_SHORT_BYTES, HALF_SHORT_BYTES);
  }
  store<i32>(state + STATE_SEQUENCE, sequence);
  store<i32>(state + STATE_SHAPE, fact(channel, SHAPE));
}

/** The eight short windows; the last four reach into the next packet. */
function joinShort(output: usize, overlap: usize, window: usize): void {
  for (let index = 1; index < 4; index++) joinPair(output + SHORT_BYTES * index, index, window);
  // The fifth overlap is half in this packet, and half in the next.
  const middle = overlap;
  joinPair(middle, 4, window);
  memory.copy(output + 4 * SHORT_BYTES, middle, HALF_SHORT_BYTES);
  memory.copy(overlap, middle + HALF_SHORT_BYTES, HALF_SHORT_BYTES);
  for (let index = 5; index < SHORT_WINDOWS; index++) {
    joinPair(overlap + HALF_SHORT_BYTES + SHORT_BYTES * (index - 5), index, window);
  }
  const last: usize = LINES_BYTE + SHORT_BYTES * (SHORT_WINDOWS - 1) + HALF_SHORT_BYTES;
  memory.copy(overlap + FLAT_BYTES, last, HALF_SHORT_BYTES);
}

function joinPair(to: usize, index: i32, window: usize): void {
  const current: usize = LINES_BYTE + SHORT_BYTES * index;
  join(to, current - HALF_SHORT_BYTES, current, window, HALF_SHORT_BYTES);
}

/** To twice `halfBytes`: the end of one window, and the beginning of the next, of which each only has half. */
function join(to: usize, before: usize, current: usize, window: usize, halfBytes: usize): void {
  let from = current + halfBytes - 16;
  let last = to + 2 * halfBytes - 16;
  let falling = window + 2 * halfBytes - 16;
  for (let at: usize = 0; at < halfBytes; at += 16) {
    const old = v128.load(before + at);
    const fresh = reversed(v128.load(from));
    const rise = v128.load(window + at);
    const fall = reversed(v128.load(falling));
    v128.store(to + at, f32x4.sub(f32x4.mul(old, fall), f32x4.mul(fresh, rise)));
    v128.store(last, reversed(f32x4.add(f32x4.mul(old, rise), f32x4.mul(fresh, fall))));
    from -= 16;
    last -= 16;
    falling -= 16;
  }
}

function reversed(value: v128): v128 {
  return f32x4.shuffle(value, value, 3, 2, 1, 0);
}

function longWindow(shape: i32): usize {
  return LONG_WINDOWS_BYTE + 4 * FRAME_SAMPLES * shape;
}

function shortWindow(shape: i32): usize {
  return SHORT_WINDOWS_BYTE + SHORT_BYTES * shape;
}
