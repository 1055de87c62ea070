// Probabilities of symbols that are coded with a table: for each value the total behind it, out of a power of two (RFC
// 6716 section 4.3). AssemblyScript.

/** The spreading of peaks, out of 32. */
export const SPREAD_PROBABILITIES = memory.data<u8>([25, 23, 2, 0]);
export const SPREAD_BITS: u32 = 5;
export const USUAL_SPREAD: i32 = 2;
/** The tilt of the allocation, out of 128. */
export const TILT_PROBABILITIES = memory.data<u8>([126, 124, 119, 109, 87, 41, 19, 9, 4, 2, 0]);
export const TILT_BITS: u32 = 7;
export const USUAL_TILT: i32 = 5;
/** The taps of the pitch filter, out of 4. */
export const TAPS_PROBABILITIES = memory.data<u8>([2, 1, 0]);
export const TAPS_BITS: u32 = 2;
/** Changes of a level by 0, -1 and 1 when there are hardly any bits left, out of 4. */
export const FEW_STEPS_PROBABILITIES = memory.data<u8>([2, 1, 0]);
export const FEW_STEPS_BITS: u32 = 2;
