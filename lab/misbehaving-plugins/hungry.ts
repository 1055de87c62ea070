// The one that fills memory, the same. Plugin thread.

import { misbehavingPlugin } from "./misbehaving-plugin.ts";

export default misbehavingPlugin("hungry");
