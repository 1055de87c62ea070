// Builds the audio loops: the second half of `npm run build`.

import { buildKernels } from "./build-kernels.ts";

await buildKernels();
