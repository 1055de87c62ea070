// The one that tests ask for one deed after the other. Plugin thread.

import { misbehavingPlugin } from "./misbehaving-plugin.ts";

export default misbehavingPlugin("misbehaving");
