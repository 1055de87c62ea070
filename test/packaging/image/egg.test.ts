// The egg for Pterodactyl and Pelican: the fields that the panels' importers read, and its installation and start in
// the way of Wings: in the base image, as an unprivileged user who can write to /home/container only. The tarball of
// `npm pack` replaces the registry's package.

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { freePort } from "../../../lab/free-port.ts";
import { requestNode } from "../../../lab/test-environment/rest-request.ts";
import { PROJECT_ROOT } from "../../support/project-files.ts";
import { Container, command, IMAGE_BASE, IMAGE_MISSING, PASSWORD } from "./engine.ts";

interface Egg {
  readonly author: string;
  readonly docker_images: Readonly<Record<string, string>>;
  readonly startup: string;
  readonly config: Readonly<Record<"files" | "startup" | "logs" | "stop", string>>;
  readonly scripts: { readonly installation: Readonly<Record<"script" | "container" | "entrypoint", string>> };
  readonly variables: readonly Readonly<Record<string, unknown>>[];
}

const egg: Egg = JSON.parse(readFileSync(`${PROJECT_ROOT}deploy/pterodactyl/egg-tonearm.json`, "utf8"));
// Our own file.
const MANIFEST = JSON.parse(readFileSync(`${PROJECT_ROOT}package.json`, "utf8")) as {
  readonly version: string;
  readonly bugs: { readonly email: string };
};
/** Neither panel takes variables of these names. */
const RESERVED = /^(P_|TZ$|ENV$|HOME$|USER$|STARTUP$|UUID$|SERVER_(MEMORY|IP|PORT|UUID)$)/;
/** As the panel's servers run: its user, and what the images' entry does with the command of the panel. */
const USER = "988:988";
const ENTRY = `cd /home/container; eval $(echo -e \${STARTUP} | sed -e 's/{{/\${/g' -e 's/}}/}/g')`;
const MEMORY_MEGABYTES = "512";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "tonearm-egg-"));
  chmodSync(folder, 0o755);
  folders.push(folder);
  return folder;
}

test("the egg has the fields that the importers of both panels read", () => {
  expect(egg).toMatchObject({
    meta: { version: "PTDL_v2", update_url: null },
    name: "Tonearm",
    author: MANIFEST.bugs.email,
    description: expect.any(String),
    features: [],
    file_denylist: [],
    config: { files: "{}", logs: "{}", stop: "^C" },
    scripts: { installation: { script: expect.stringMatching(/^#!\/bin\/bash\n/), entrypoint: "bash" } },
  });
  expect(JSON.parse(egg.config.startup)).toEqual({ done: expect.any(String) });
  for (const image of Object.values(egg.docker_images)) {
    expect(image.length).toBeLessThan(192);
    expect(image).toMatch(/^[\w#./\- ]*\|?~?[\w./\-:@ ]*$/);
  }
  for (const variable of egg.variables) {
    // Both store each field in a column of that name, so further fields would fail.
    expect(Object.keys(variable)).toEqual(
      ["name", "description", "env_variable", "default_value", "user_viewable", "user_editable", "rules"].concat(
        "field_type",
      ),
    );
    expect(variable.env_variable).not.toMatch(RESERVED);
  }
});

test("the egg installs the tarball of this version, and without it says what to upload", async () => {
  const variable = egg.variables.find((candidate) => candidate.env_variable === "NODE_PACKAGE");
  expect(variable?.default_value).toBe(`./tonearm-${MANIFEST.version}.tgz`);
  const folder = makeFolder();
  // Nothing outside of the test's folder.
  const script = egg.scripts.installation.script.replaceAll("/mnt/server", folder);
  const { status, output } = await command("env", [`NODE_PACKAGE=${variable?.default_value}`, "bash", "-c", script]);
  expect(output).toContain(`upload ./tonearm-${MANIFEST.version}.tgz`);
  expect(status).toBe(0);
});

test("the egg requires a password, and does not show it with the command", () => {
  const password = egg.variables.find((variable) => variable.env_variable === "LAVALINK_SERVER_PASSWORD");
  expect(password).toMatchObject({ default_value: "", rules: expect.stringMatching(/^required\|string\|min:12\|/) });
  expect(egg.startup).not.toContain("PASSWORD}}");
});

// Needs a container engine; the reason is printed when there is none.
test.skipIf(IMAGE_MISSING !== "")(
  "the egg installs, starts on the server's port, serves, and stops in order",
  async () => {
    const [server, given] = [makeFolder(), makeFolder()];
    const packed = await command("npm", ["pack", "--ignore-scripts", "--pack-destination", given], PROJECT_ROOT);
    const [tarball = ""] = /^tonearm-\S+\.tgz$/m.exec(packed.output) ?? [];
    const cache = (await command("npm", ["config", "get", "cache", "--loglevel=error"])).output.trim();
    writeFileSync(join(given, "install.sh"), egg.scripts.installation.script);
    writeFileSync(join(server, "application.yml"), "server:\n  port: 1\n");
    const install = await Container.run({
      image: IMAGE_BASE,
      // With what this machine has fetched already.
      options: [`${server}:/mnt/server`, `${given}:/mnt/install:ro`, `${cache}:/tmp/npm`].flatMap((volume) => [
        "--volume",
        volume,
      ]),
      command: [egg.scripts.installation.entrypoint, "/mnt/install/install.sh"],
      // Should it hang, its output says at what.
      variables: { NODE_PACKAGE: `/mnt/install/${tarball}`, npm_config_loglevel: "http" },
    });
    expect(install.output).toMatch(/^\d+\.\d+\.\d+$/m);
    expect(install.status).toBe(0);
    mkdirSync(join(server, "state"));
    await command("chown", ["--recursive", USER, server]);

    const port = await freePort();
    const panel = {
      STARTUP: egg.startup,
      SERVER_MEMORY: MEMORY_MEGABYTES,
      SERVER_IP: "0.0.0.0",
      SERVER_PORT: String(port),
      P_SERVER_UUID: "00000000-0000-0000-0000-000000000000",
      HOME: "/home/container",
      NODE_PACKAGE: `./tonearm-${MANIFEST.version}.tgz`,
      LAVALINK_SERVER_PASSWORD: PASSWORD,
    };
    const container = await Container.start({
      image: IMAGE_BASE,
      options: [
        ...["--read-only", "--read-only-tmpfs=false", "--tmpfs", "/tmp:rw,exec,nosuid,size=100M", "--user", USER],
        ...["--security-opt", "no-new-privileges", "--memory", "589m"],
        // The images for panels bring it; the base has none.
        ...["--volume", "/usr/bin/tini:/usr/bin/tini:ro", "--volume", `${server}:/home/container`],
      ],
      command: ["/usr/bin/tini", "-g", "--", "bash", "-c", ENTRY],
      variables: panel,
    });
    const { done } = JSON.parse(egg.config.startup);
    const output = await container.until(new RegExp(done));
    expect(output).toContain(`listening on http://0.0.0.0:${port} `);
    const answer = await requestNode(
      { url: `http://127.0.0.1:${port}`, password: PASSWORD },
      { method: "GET", path: "/v4/info" },
    );
    expect(answer.status).toBe(200);
    const shown = (await container.exec("sh", "-c", "cat /proc/*/cmdline | tr '\\0' ' '; echo; id --user")).output;
    expect(shown).toContain("node --max-old-space-size=256 ");
    expect(shown).not.toContain(PASSWORD);
    expect(shown.trim().split("\n").at(-1)).toBe("988");
    await container.signal("SIGINT");
    expect(await container.ended()).toBe(0);
    expect(await container.output()).toMatch(/closing signal=SIGINT\n(?:.*\n)*.* closed\n$/);
  },
);
