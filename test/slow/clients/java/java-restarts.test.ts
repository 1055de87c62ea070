// The official client for Java, whose node is restarted: what it does by its own code.

import { beforeAll, describe } from "vitest";
import { describeRestarts } from "../../../integration/clients/restart-story.ts";
import { compileJavaClient, hasMaven, javaClient } from "./java-client.ts";

describe.skipIf(!hasMaven)("lavalink-client", () => {
  beforeAll(compileJavaClient);
  describeRestarts([{ ...javaClient, afterRestart: "resumes" }]);
});
