// Builds the sound loops before tests that run them, where what is built is not what the sources say.

import { refreshKernels } from "../../lab/kernels/build-kernels.ts";

export async function setup(): Promise<void> {
  await refreshKernels();
}
