// Builds the audio loops before tests that run them, unless they are up to date with the sources.

import { refreshKernels } from "../../lab/kernels/build-kernels.ts";

export async function setup(): Promise<void> {
  await refreshKernels();
}
