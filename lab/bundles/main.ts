// Writes the node's programs: the last part of `npm run build`.

import { buildBundles } from "./build-bundles.ts";

await buildBundles();
