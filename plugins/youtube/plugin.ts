// The YouTube plugin as the node loads it: its solver runs in a thread of its own. Plugin thread.

import { createSolverThread } from "./solver-thread.ts";
import { createYoutubePlugin } from "./youtube-plugin.ts";

export default createYoutubePlugin(createSolverThread);
