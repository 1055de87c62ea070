// The one that loops, for benchmarks and tests where several go wrong at once. Plugin thread.

import { naughtyPlugin } from "./naughty-plugin.ts";

export default naughtyPlugin("looping");
