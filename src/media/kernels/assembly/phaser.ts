// The inner loop of the phaser: four all-pass stages (y = a x + z, then z = x - a y) and the feedback, in 64 bits, left
// and right in the two lanes. The feedback is two samples old, so that a sample need not wait for all stages of the one
// before. AssemblyScript; the plain loop is in ../phaser-kernel.ts, the memory in ../numbers/phaser.ts. Audio thread.

import { F32_BYTES, VECTOR_BYTES } from "../numbers/block.ts";
import { PHASER_LEFT, PHASER_RIGHT, PHASER_STATE } from "../numbers/phaser.ts";

/**
 * Processes samples from number `start` to `end` in place. The stages' tuning (left, right) and the feedback advance by
 * their steps with each sample.
 */
export function phase(
  start: u32,
  end: u32,
  left: f64,
  right: f64,
  leftStep: f64,
  rightStep: f64,
  feedback: f64,
  feedbackStep: f64,
  mix: f64,
): void {
  let a = f64x2.replace_lane(f64x2.splat(left), 1, right);
  const aStep = f64x2.replace_lane(f64x2.splat(leftStep), 1, rightStep);
  let again = f64x2.splat(feedback);
  const againStep = f64x2.splat(feedbackStep);
  const share = f64x2.splat(mix);
  let z1 = v128.load(PHASER_STATE);
  let z2 = v128.load(PHASER_STATE + VECTOR_BYTES);
  let z3 = v128.load(PHASER_STATE + 2 * VECTOR_BYTES);
  let z4 = v128.load(PHASER_STATE + 3 * VECTOR_BYTES);
  let last = v128.load(PHASER_STATE + 4 * VECTOR_BYTES);
  let before = v128.load(PHASER_STATE + 5 * VECTOR_BYTES);
  const to: usize = F32_BYTES * end;
  // Not do … while as in the other loops: V8 runs this one, which waits for its own results, a tenth slower then.
  for (let at: usize = F32_BYTES * start; at < to; at += F32_BYTES) {
    const x = f64x2.promote_low_f32x4(v128.load32_lane(at, v128.load32_zero(at, PHASER_LEFT), 1, PHASER_RIGHT));
    const x1 = f64x2.add(x, f64x2.mul(again, before));
    before = last;
    const x2 = f64x2.add(f64x2.mul(a, x1), z1);
    z1 = f64x2.sub(x1, f64x2.mul(a, x2));
    const x3 = f64x2.add(f64x2.mul(a, x2), z2);
    z2 = f64x2.sub(x2, f64x2.mul(a, x3));
    const x4 = f64x2.add(f64x2.mul(a, x3), z3);
    z3 = f64x2.sub(x3, f64x2.mul(a, x4));
    last = f64x2.add(f64x2.mul(a, x4), z4);
    z4 = f64x2.sub(x4, f64x2.mul(a, last));
    const mixed = f32x4.demote_f64x2_zero(f64x2.add(x, f64x2.mul(share, f64x2.sub(last, x))));
    v128.store32_lane(at, mixed, 0, PHASER_LEFT);
    v128.store32_lane(at, mixed, 1, PHASER_RIGHT);
    a = f64x2.add(a, aStep);
    again = f64x2.add(again, againStep);
  }
  v128.store(PHASER_STATE, z1);
  v128.store(PHASER_STATE + VECTOR_BYTES, z2);
  v128.store(PHASER_STATE + 2 * VECTOR_BYTES, z3);
  v128.store(PHASER_STATE + 3 * VECTOR_BYTES, z4);
  v128.store(PHASER_STATE + 4 * VECTOR_BYTES, last);
  v128.store(PHASER_STATE + 5 * VECTOR_BYTES, before);
}
