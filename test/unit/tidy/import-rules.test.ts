import { describe, expect, test } from "vitest";
import { typescriptFiles } from "../../support/project-files.ts";
import { importsOf } from "./imports.ts";

/** What a thread's folder may import, beside the floors of ARCHITECTURE.md: each entry is the start of a path. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  "src/media/": [
    "src/media/",
    "src/network/",
    "src/bridge/",
    "src/filters/",
    "src/lib/",
    "src/errors.ts",
    "src/log.ts",
  ],
  "src/control/": [
    "src/control/",
    "src/network/",
    "src/bridge/",
    "src/filters/",
    "src/track/",
    "src/lib/",
    "src/config/",
    "src/plugin-api/",
    "src/plugin-options/",
    "src/errors.ts",
    "src/log.ts",
    "src/log-ring.ts",
    "src/version.ts",
  ],
  "src/track/": ["src/track/", "src/lib/", "src/errors.ts", "src/plugin-api/"],
  "src/plugin-api/": [],
};

/** `tonearm demo` and `tonearm canary` are commands of the node and tools of the lab. */
const LAB_COMMANDS = ["lab/demo/main.ts", "lab/canary/command.ts"].map((file) => `src/cli/run-command.ts -> ${file}`);
/** The list of the plugins that come with the node. */
const BUILTIN_IMPORT = "src/plugin-plans.ts -> plugins/builtin.ts";

const FILES = typescriptFiles("src/", "lab/", "plugins/", "dashboard/", "test/");
const EDGES = FILES.flatMap((file) => importsOf(file).map((target) => ({ from: file.path, target })));

function edgesThat(isWrong: (from: string, target: string) => boolean): string[] {
  return EDGES.filter(({ from, target }) => isWrong(from, target)).map(({ from, target }) => `${from} -> ${target}`);
}

function filesWith(pattern: RegExp, folder = "src/"): string[] {
  return FILES.filter(({ path, text }) => path.startsWith(folder) && pattern.test(withoutComments(text))).map(
    ({ path }) => path,
  );
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/(^|[^:"'`])\/\/.*$/gm, "$1");
}

describe("imports", () => {
  test("are found in both forms (or the rules below would see nothing)", () => {
    expect(EDGES.length).toBeGreaterThan(50);
    const text =
      'import { a } from "./a.ts";\nimport type {\n  B,\n} from "../../b.ts";\nconst c = await import("./c.ts");';
    expect(importsOf({ path: "src/x/y.ts", text })).toEqual(["src/x/a.ts", "src/b.ts", "src/x/c.ts"]);
  });

  test.each(Object.entries(ALLOWED))("%s keeps to what it may know", (folder, allowed) => {
    const wrong = edgesThat(
      (from, target) => from.startsWith(folder) && !allowed.some((start) => target.startsWith(start)),
    );
    expect(wrong).toEqual([]);
  });

  test("src needs neither lab nor test", () => {
    const wrong = edgesThat((from, target) => from.startsWith("src/") && !target.startsWith("src/"));
    expect(wrong.filter((edge) => !LAB_COMMANDS.includes(edge) && edge !== BUILTIN_IMPORT)).toEqual([]);
  });

  test("lab does not need test", () => {
    expect(edgesThat((from, target) => from.startsWith("lab/") && target.startsWith("test/"))).toEqual([]);
  });

  test("each file says where a name comes from: no re-exports", () => {
    expect(filesWith(/^export\s+(type\s+)?(\*|\{[^}]*\})\s*(as\s+\w+\s+)?from\s/m)).toEqual([]);
  });
});

test("a built-in plugin knows of the node what every plugin knows: its interface", () => {
  const files = typescriptFiles("plugins/").filter(({ path }) => path !== "plugins/builtin.ts");
  const wrong = files.flatMap((file) =>
    importsOf(file).flatMap((target) =>
      target.startsWith("plugins/") || target === "src/plugin-api/plugin.ts" ? [] : [`${file.path} -> ${target}`],
    ),
  );
  expect(wrong).toEqual([]);
  expect(files.length).toBeGreaterThan(20);
});

test("the dashboard's page takes only types of the node, and nothing of Node.js: it runs in browsers", () => {
  const wrong = /^import (?!type )[^;]*from "(?:[./]*\/(?:src|lab|plugins|test)\/|node:)/m;
  expect(filesWith(wrong, "dashboard/")).toEqual([]);
  expect(filesWith(/^import type [^;]*from "[./]*\/src\//m, "dashboard/").length).toBeGreaterThan(3);
});

test("the dashboard's page makes no markup of texts", () => {
  expect(filesWith(/innerHTML|outerHTML|insertAdjacentHTML|document\.write/i, "dashboard/")).toEqual([]);
});

describe("only one place", () => {
  test("reads parentPort and workerData: the entries of the threads", () => {
    const media = ["codec-main", "lookup-main", "main", "pacer-main"].map((name) => `src/media/${name}.ts`);
    const entries = [...media, "src/plugin-thread/main.ts"];
    const readers = filesWith(/\bparentPort\b|\bworkerData\b\s*[,}].*worker_threads/);
    expect(readers.sort()).toEqual(entries);
  });

  test("starts threads: control/workers/threads.ts", () => {
    expect(filesWith(/new Worker\(/)).toEqual(["src/control/workers/threads.ts"]);
  });

  test("reads the environment: config", () => {
    const known = ["src/plugin-thread/host/run-program.ts"]; // only hands it on, without what is secret
    expect(filesWith(/process\.env\b/).filter((path) => !path.startsWith("src/config/"))).toEqual(known);
  });

  test("opens connections to elsewhere: what asks the outbound guard (docs/reference/outbound-guard.md)", () => {
    const opening =
      /^import (?!type )[^;]*from "(undici|ws|node:(dgram|tls|https|http2|dns|dns\/promises))"|^import [^;]*\bconnect\b[^;]*from "node:net"|\bfetch\(/m;
    const known = [
      "src/cli/doctor/network-checks.ts", // the operator's own command, to one fixed host
      "src/control/dashboard/live-socket.ts", // a server
      "src/control/server/served-certificate.ts", // both ends are its own
      "src/control/server/tls-listener.ts", // a server
      "src/control/server/tls-material.ts", // what it is served with
      "src/control/server/web-socket-endpoint.ts", // a server
      "src/control/route-planner/bind-check.ts", // binds only
      "src/network/guarded-dispatcher.ts",
      "src/network/host-resolver.ts",
      "src/network/outbound-guard.ts",
      "src/network/outgoing-routes.ts",
      "src/media/input/http-client.ts",
      "src/plugin-thread/host/http-client.ts", // sends on the guarded dispatcher that it is given
      "src/media/input/shoutcast-client.ts",
      "src/media/voice/gateway-dialler.ts", // gateway-socket.ts asks for it
      "src/media/voice/gateway-socket.ts",
      "src/network/sockets.ts", // its users ask
    ];
    expect(filesWith(opening).filter((path) => !known.includes(path))).toEqual([]);
  });

  test("loads the schemas of the protocol: the API; everybody else names the types that are made of them", () => {
    const loading = /^import (?!type )[^;]*from "[./]*protocol\/(?:[\w-]+-json|json-of|filter-schemas)\.ts"/m;
    const elsewhere = filesWith(loading).filter((path) => !path.startsWith("src/control/api/"));
    expect(elsewhere).toEqual([]);
    expect(filesWith(loading).length).toBeGreaterThan(3);
  });

  test("loads the library of the schemas: what browsers and clients talk to, which other threads do without", () => {
    const rooms = ["src/control/api/", "src/control/dashboard/", "src/control/protocol/"];
    const loading = filesWith(/^import [^;]*from "zod"/m);
    expect(loading.filter((path) => !rooms.some((room) => path.startsWith(room)))).toEqual([]);
    expect(loading.length).toBeGreaterThan(3);
  });

  test("trusts URL.canParse: nobody, see src/lib/parse-url.ts", () => {
    expect([...filesWith(/URL\.canParse/), ...filesWith(/URL\.canParse/, "plugins/")]).toEqual([]);
  });

  test("writes to the console: nobody, lines go through the logger", () => {
    expect(filesWith(/\bconsole\./)).toEqual([]);
  });
});
