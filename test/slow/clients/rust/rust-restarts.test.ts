// lavalink-rs, whose node is restarted: what it does by its own code.

import { beforeAll, describe } from "vitest";
import { describeRestarts } from "../../../integration/clients/restart-story.ts";
import { compileRustClient, hasCargo, rustClient } from "./rust-client.ts";

describe.skipIf(!hasCargo)("lavalink-rs", () => {
  beforeAll(compileRustClient);
  describeRestarts([{ ...rustClient, afterRestart: "resumes" }]);
});
