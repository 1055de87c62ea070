// The slot of the stream that is worked on, and the numbers that begin it, by their index: what each means is in the
// slot.ts of the encoder and of the CELT decoder (src/media/kernels/assembly/celt). AssemblyScript.

import { floatAt, intAt, setFloat, setInt } from "./lists.ts";

let slot: usize = 0;

/** From now on all is read from this one, and written there. */
export function chooseSlot(address: usize): void {
  slot = address;
}

export function chosenSlot(): usize {
  return slot;
}

export function retained(index: i32): i32 {
  return intAt(slot, index);
}

export function setRetained(index: i32, value: i32): void {
  setInt(slot, index, value);
}

export function retainedFloat(index: i32): f32 {
  return floatAt(slot, index);
}

export function setRetainedFloat(index: i32, value: f32): void {
  setFloat(slot, index, value);
}
