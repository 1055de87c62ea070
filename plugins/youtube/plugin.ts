// The YouTube plugin as loaded by the node: its solver runs in a separate thread. Plugin thread.

import { createSolverThread } from "./solver-thread.ts";
import { createYoutubePlugin } from "./youtube-plugin.ts";

export default createYoutubePlugin(createSolverThread);
