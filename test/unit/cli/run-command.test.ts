import { describe, expect, test } from "vitest";
import { runCommand } from "../../../src/cli/run-command.ts";
import { VERSION } from "../../../src/version.ts";

async function run(...args: string[]) {
  let output = "";
  let errors = "";
  const status = await runCommand(args, {
    cwd: "/nowhere",
    write: (text) => {
      output += text;
    },
    writeError: (text) => {
      errors += text;
    },
  });
  return { status, output, errors };
}

describe("tonearm", () => {
  test.each(["--version", "-v"])("%s prints only the version", async (option) => {
    expect(await run(option)).toEqual({ status: 0, output: `${VERSION}\n`, errors: "" });
  });

  test.each([["--help"], ["-h"], ["help"], ["start", "--help"], ["doctor", "-h"]])(
    "%s %s prints help",
    async (...args) => {
      const { status, output } = await run(...args);
      expect(status).toBe(0);
      for (const word of ["start", "demo", "doctor", "support", "--config", "--version"])
        expect(output).toContain(word);
    },
  );

  test("an unknown command is refused with a suggestion", async () => {
    const { status, errors } = await run("docter");
    expect(status).toBe(2);
    expect(errors).toContain('Did you mean "doctor"?');
  });

  test("a wrong configuration stops the start with its message and no stack", async () => {
    const { status, errors } = await run("start", "--server.port=here");
    expect(status).toBe(1);
    expect(errors).toMatch(/^tonearm: the configuration has a mistake:\n {2}--server.port: /);
    expect(errors).not.toContain("    at ");
  });

  test("the error for an argument that is no option shows the syntax, with an example that is no secret", async () => {
    for (const args of [["--port", "4000"], ["start", "4000"], ["--server.port"]]) {
      const { status, errors } = await run(...args);
      expect(status).toBe(1);
      expect(errors).toContain("such as --server.port=2333\n");
      expect(errors).not.toContain("<redacted>");
    }
  });

  test("options without a command belong to start", async () => {
    expect((await run("--tonearm.workers.count=many")).errors).toContain("tonearm.workers.count");
  });
});
