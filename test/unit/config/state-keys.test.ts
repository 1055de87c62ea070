import { describe, expect, test } from "vitest";
import { loadConfig } from "../../../src/config/load-config.ts";

function load(text: string, env: Readonly<Record<string, string>> = {}) {
  const readFile = (path: string) => (path.endsWith("tonearm.yml") ? text : undefined);
  return loadConfig({ args: [], env, cwd: "/app", readFile }).config.state;
}

describe("tonearm.state", () => {
  test("the state is stored below the folder where the node was started unless something else is set", () => {
    expect(load("")).toEqual({ isEnabled: true, path: "/app/state", key: undefined });
    expect(load("tonearm.state: { enabled: false, path: ./elsewhere }")).toMatchObject({
      isEnabled: false,
      path: "/app/elsewhere",
    });
    expect(load("tonearm.state.path: /srv/state").path).toBe("/srv/state");
  });

  test("the state is stored below the service manager's state directory, which a set path overrides", () => {
    const env = { STATE_DIRECTORY: "/var/lib/tonearm" };
    expect(load("", env).path).toBe("/var/lib/tonearm/state");
    expect(load("tonearm.state.path: mine", env).path).toBe("/app/mine");
  });

  test("the key of the state is a secret", () => {
    const { key } = load("tonearm.state.key: correct horse");
    expect([key?.reveal(), `${key}`]).toEqual(["correct horse", "<redacted>"]);
  });
});
