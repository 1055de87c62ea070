// The one that loops, for benchmarks and tests where several go wrong at once. Plugin thread.

import { misbehavingPlugin } from "./misbehaving-plugin.ts";

export default misbehavingPlugin("looping");
