// A real client from npm finds songs of a site without audio, and hears them from another.

import { lavalinkClient } from "./npm/lavalink-client.ts";
import { describeMirrorsWith } from "./site-tests.ts";

describeMirrorsWith("lavalink-client", () => lavalinkClient);
