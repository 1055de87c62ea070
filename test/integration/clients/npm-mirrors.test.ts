// Real clients from npm find songs of a site without audio, and hear them from another.

import { lavalinkClient } from "./npm/lavalink-client.ts";
import { shoukaku } from "./npm/shoukaku.ts";
import { describeMirrorsWith } from "./site-tests.ts";

describeMirrorsWith("lavalink-client", () => lavalinkClient);
describeMirrorsWith("shoukaku", () => shoukaku);
