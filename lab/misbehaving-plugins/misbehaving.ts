// The plugin of which tests request one deed after the other. Plugin thread.

import { misbehavingPlugin } from "./misbehaving-plugin.ts";

export default misbehavingPlugin("misbehaving");
