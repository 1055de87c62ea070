// Builds the audio loops and the Opus encoder. Part of `npm run build`.

import { buildKernels } from "./build-kernels.ts";

await buildKernels();
