// The one that fills memory, the same. Plugin thread.

import { naughtyPlugin } from "./naughty-plugin.ts";

export default naughtyPlugin("hungry");
