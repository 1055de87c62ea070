// The Info object of the protocol (protocol-v4.md section 3.6). Main thread; made in observability/status.

import { z } from "zod";
import { count, type JsonOf, text } from "./json-of.ts";

/**
 * The answer of `GET /v4/info`. Clients check its sources and filters before they use them. `semver` is the node's own
 * version; the numbers are those of `PROTOCOL_VERSION`.
 */
export type InfoJson = JsonOf<typeof infoSchema>;

/** Schema of InfoJson. */
export const infoSchema = z
  .strictObject({
    version: z.strictObject({ semver: text, major: count, minor: count, patch: count, preRelease: text }),
    buildTime: z.int().describe("Epoch milliseconds, -1 if unknown"),
    git: z.strictObject({ branch: text, commit: text, commitTime: z.int().describe("Epoch milliseconds") }),
    jvm: text,
    /** Clients of the published server know this name. */
    lavaplayer: text,
    audioLibrary: text.describe("Equal to lavaplayer"),
    sourceManagers: z.array(text),
    filters: z.array(text),
    plugins: z.array(z.strictObject({ name: text, version: text })),
  })
  .meta({ id: "Info" });
