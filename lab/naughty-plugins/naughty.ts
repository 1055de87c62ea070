// The one that tests ask for one deed after the other. Plugin thread.

import { naughtyPlugin } from "./naughty-plugin.ts";

export default naughtyPlugin("naughty");
