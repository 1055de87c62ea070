// Real clients from npm find and play songs of sites.

import { lavalinkClient } from "./npm/lavalink-client.ts";
import { shoukaku } from "./npm/shoukaku.ts";
import { describeSitesWith } from "./site-tests.ts";

describeSitesWith("lavalink-client", () => lavalinkClient);
describeSitesWith("shoukaku", () => shoukaku);
