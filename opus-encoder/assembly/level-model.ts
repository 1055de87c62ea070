// The model of the bands' coarse levels (RFC 6716 section 4.3.2.1): how they are predicted, and how probable differences
// from that are. AssemblyScript.

/** Levels below this count as this when the next frame's are predicted from them. */
export const BEFORE_MIN: f32 = -9;
/** Differences have probabilities out of 32768. */
export const LEVEL_BITS: u32 = 15;
export const LEVEL_TOTAL: u32 = 32768;
/** The units of both numbers of a model. */
export const ZERO_BITS: u32 = 7;
export const DECAY_BITS: u32 = 6;

/** How much of the frame before is expected to remain, and of what the band below has risen; by the frame's size. */
const FROM_BEFORE = memory.data<f32>([0.8984375, 0.796875, 0.6484375, 0.5]);
const FROM_BELOW = memory.data<f32>([0.079986572265625, 0.32000732421875, 0.6300048828125, 0.79998779296875]);
const FROM_BELOW_ALONE: f32 = 0.850006103515625;
/**
 * For each frame size, of frames that depend on the one before, then of independent ones, per band: how likely no
 * difference is (in 256ths), and how fast others get rarer.
 */
const PROBABILITIES = memory.data<u8>([
  72, 127, 65, 129, 66, 128, 65, 128, 64, 128, 62, 128, 64, 128, 64, 128, 92, 78, 92, 79, 92, 78, 90, 79, 116, 41, 115,
  40, 114, 40, 132, 26, 132, 26, 145, 17, 161, 12, 176, 10, 177, 11, 24, 179, 48, 138, 54, 135, 54, 132, 53, 134, 56,
  133, 55, 132, 55, 132, 61, 114, 70, 96, 74, 88, 75, 88, 87, 74, 89, 66, 91, 67, 100, 59, 108, 50, 120, 40, 122, 37,
  97, 43, 78, 50, 83, 78, 84, 81, 88, 75, 86, 74, 87, 71, 90, 73, 93, 74, 93, 74, 109, 40, 114, 36, 117, 34, 117, 34,
  143, 17, 145, 18, 146, 19, 162, 12, 165, 10, 178, 7, 189, 6, 190, 8, 177, 9, 23, 178, 54, 115, 63, 102, 66, 98, 69,
  99, 74, 89, 71, 91, 73, 91, 78, 89, 86, 80, 92, 66, 93, 64, 102, 59, 103, 60, 104, 60, 117, 52, 123, 44, 138, 35, 133,
  31, 97, 38, 77, 45, 61, 90, 93, 60, 105, 42, 107, 41, 110, 45, 116, 38, 113, 38, 112, 38, 124, 26, 132, 27, 136, 19,
  140, 20, 155, 14, 159, 16, 158, 18, 170, 13, 177, 10, 187, 8, 192, 6, 175, 9, 159, 10, 21, 178, 59, 110, 71, 86, 75,
  85, 84, 83, 91, 66, 88, 73, 87, 72, 92, 75, 98, 72, 105, 58, 107, 54, 115, 52, 114, 55, 112, 56, 129, 51, 132, 40,
  150, 33, 140, 29, 98, 35, 77, 42, 42, 121, 96, 66, 108, 43, 111, 40, 117, 44, 123, 32, 120, 36, 119, 33, 127, 33, 134,
  34, 139, 21, 147, 23, 152, 20, 158, 25, 154, 26, 166, 21, 173, 16, 184, 13, 184, 10, 150, 13, 139, 15, 22, 178, 63,
  114, 74, 82, 84, 83, 92, 82, 103, 62, 96, 72, 96, 67, 101, 73, 107, 72, 113, 55, 118, 52, 125, 52, 118, 52, 117, 55,
  135, 49, 137, 39, 157, 32, 145, 29, 97, 33, 77, 40,
]);
const MODEL_BYTES: i32 = 42;

/** The share of a level that the next frame is expected to have. */
export function fromBefore(sizeLog: i32, isIndependent: bool): f32 {
  return isIndependent ? 0 : load<f32>(FROM_BEFORE + (usize(sizeLog) << 2));
}

/** The share of a band's difference that the band above is expected to have. */
export function fromBelow(sizeLog: i32, isIndependent: bool): f32 {
  return isIndependent ? FROM_BELOW_ALONE : load<f32>(FROM_BELOW + (usize(sizeLog) << 2));
}

/** The address of a band's two numbers. */
export function levelProbabilities(sizeLog: i32, isIndependent: bool, band: i32): usize {
  return PROBABILITIES + usize(MODEL_BYTES * (2 * sizeLog + (isIndependent ? 1 : 0)) + 2 * band);
}

/** The probability of a difference of 1, and of -1, less one. */
export function secondChance(zero: u32, decay: u32): u32 {
  return ((LEVEL_TOTAL - 32 - zero) * (16384 - decay)) >> LEVEL_BITS;
}

/** From the probability of a difference to that of the next one. */
export function nextChance(chance: u32, decay: u32): u32 {
  return (2 * chance * decay) >> LEVEL_BITS;
}
