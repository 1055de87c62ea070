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

  it("a cause shows the functions it passed through, without folders", () => {
    const cause = new Error("two\n    at lines (/of/text.ts:1:2)");
    cause.stack = [
      `Error: ${cause.message}`,
      "    at readIt (/opt/node/src/read.ts:12:5)",
      "    at async Promise.all (index 0)",
      "    at new Reader (file:///opt/node/src/reader.ts:7:31)",
      "    at C:\\node\\src\\main.ts:3:1",
    ].join("\n");
    const { causeStackTrace } = toWireError(new NodeError("input-not-found", "opening", { cause }));
    const frames = causeStackTrace.split("Caused by: ")[1]?.split("\n").slice(2);
    expect(frames).toEqual([
      "\tat readIt (read.ts:12)",
      "\tat new Reader (reader.ts:7)",
      "\tat <anonymous> (main.ts:3)",
    ]);
  });

  it("a message that looks like a stack takes no time", () => {
    for (const piece of [" (", "at ", ":1", "\n at x (", " ", "/"]) {
      const cause = new Error(
        `ENAMETOOLONG: name too long, realpath '/music/\n at ${piece.repeat(1_000_000 / piece.length)}'`,
      );
      const wire = toWireError(new NodeError("input-not-found", "opening a local file", { cause }));
      expect(wire.causeStackTrace.length).toBeLessThanOrEqual(4200);
    }
  });

  it("a stack that is something else does not prevent the report", () => {
    const cause = Object.assign(new Error("odd"), { stack: 5 });
    expect(toWireError(new NodeError("input-not-found", "opening", { cause })).cause).toBe("Error: odd");
  });
});
