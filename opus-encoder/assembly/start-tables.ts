// Tables that are reckoned once, when the encoder's module is started: the window, angles of the transforms, numbers of
// pulse vectors. AssemblyScript.

import { FRAME_SAMPLES, VECTOR_BYTES } from "../src/numbers.ts";
import { OVERLAP_SAMPLES, SHORT_SAMPLES } from "./format.ts";
import { setFloat } from "./lists.ts";
import { LANE_TURNS, LONG_TURNS, ROOTS, SHORT_TURNS, WINDOW } from "./memory-map.ts";
import { prepareCounts } from "./pulse-counts.ts";

const TURN: f64 = 2 * Math.PI;

export function prepareTables(): void {
  prepareWindow();
  prepareRoots();
  prepareLaneTurns();
  prepareTurns(LONG_TURNS, FRAME_SAMPLES);
  prepareTurns(SHORT_TURNS, i32(SHORT_SAMPLES));
  prepareCounts();
}

/** RFC 6716 section 4.3.7. */
function prepareWindow(): void {
  for (let sample = 0; sample < i32(OVERLAP_SAMPLES); sample++) {
    const sine = Math.sin((0.25 * TURN * (f64(sample) + 0.5)) / f64(i32(OVERLAP_SAMPLES)));
    setFloat(WINDOW, sample, f32(Math.sin(0.25 * TURN * sine * sine)));
  }
}

function prepareRoots(): void {
  for (let root = 0; root < i32(SHORT_SAMPLES); root++) {
    const angle = (TURN * f64(root)) / f64(i32(SHORT_SAMPLES));
    setFloat(ROOTS, 2 * root, f32(Math.cos(angle)));
    setFloat(ROOTS, 2 * root + 1, f32(Math.sin(angle)));
  }
}

function prepareLaneTurns(): void {
  for (let step = 0; step < i32(SHORT_SAMPLES); step++) {
    for (let lane = 0; lane < 4; lane++) {
      const angle = (TURN * f64(step * lane)) / 480;
      const address = LANE_TURNS + 2 * VECTOR_BYTES * usize(step);
      setFloat(address, lane, f32(Math.cos(angle)));
      setFloat(address, lane + 4, f32(Math.sin(angle)));
    }
  }
}

/** Half as many angles as the transform has samples: cosines, then sines. */
export function prepareTurns(table: usize, length: i32): void {
  const count = length >> 1;
  for (let index = 0; index < count; index++) {
    const angle = (TURN * (f64(index) + 0.125)) / f64(2 * length);
    setFloat(table, index, f32(Math.cos(angle)));
    setFloat(table, index + count, f32(Math.sin(angle)));
  }
}
