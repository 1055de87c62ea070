import { open } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { toWireError } from "../../../src/bridge/wire-error.ts";
import { NodeError } from "../../../src/errors.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));

describe("an error on its way to a client", () => {
  it("a wire error has the file system's message without the path on this machine", async () => {
    const failure: unknown = await open(`${HERE}missing.mp3`).catch((error: unknown) => error);
    const wire = toWireError(new NodeError("input-not-found", "opening a local file", { cause: failure }));
    expect(wire.cause).toMatch(/^Error: ENOENT: no such file or directory, open …$/);
    expect(wire.causeStackTrace).toContain("Caused by: Error: ENOENT");
    expect(JSON.stringify(wire)).not.toContain(HERE);
  });

  it("keeps its own words and severity, whatever lies beneath", () => {
    const wire = toWireError(new NodeError("input-interrupted", "receiving it", { cause: new Error("reset") }));
    expect(wire).toMatchObject({ code: "input-interrupted", message: "receiving it", severity: "suspicious" });
    expect(wire.cause).toBe("Error: reset");
  });

  it("an unexpected error becomes an internal error of the node", () => {
    const wire = toWireError(new TypeError("x is undefined"));
    expect(wire).toMatchObject({ code: "internal", severity: "fault", cause: "TypeError: x is undefined" });
    expect(wire.message).not.toContain("undefined");
  });
});
