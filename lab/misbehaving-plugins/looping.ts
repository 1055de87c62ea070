// The plugin that loops, for benchmarks and tests in which several fail at once. Plugin thread.

import { misbehavingPlugin } from "./misbehaving-plugin.ts";

export default misbehavingPlugin("looping");
