// The commands, options, environment variables and configuration that the documents ask users to type or write.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { describe, expect, test } from "vitest";
import { parseDocument } from "yaml";
import { codeBlocksOf } from "../../../docs/site/markdown.mjs";
import { COMMANDS as LAB_COMMANDS } from "../../../lab/programs.ts";
import { BUILTIN_PLUGINS } from "../../../plugins/builtin.ts";
import { keysCommand } from "../../../src/cli/keys-command.ts";
import { ALL_KEYS } from "../../../src/config/keys/all-keys.ts";
import { type LoadedConfig, loadConfig } from "../../../src/config/load-config.ts";
import { findByPath, findByVariable, isOurVariable } from "../../../src/config/reading/key-names.ts";
import { planPlugins } from "../../../src/plugin-host/plan/plugin-plans.ts";
import { readOptions } from "../../../src/plugin-options/read-options.ts";
import { PROJECT_ROOT, type ProjectFile, projectFiles } from "../../support/project-files.ts";

const DOCUMENTS = projectFiles("").filter(({ path }) => path.endsWith(".md"));
const HELP = readFileSync(`${PROJECT_ROOT}src/cli/run-command.ts`, "utf8");

/** The subcommands of `tonearm`, from its help. */
const COMMANDS = new Set(["start", ...Array.from(HELP.matchAll(/^ {2}tonearm \[?(\w+)/gm), ([, name = ""]) => name)]);
const GENERAL_OPTIONS = new Set(Array.from(HELP.matchAll(/--([a-z]+)/g), ([, name = ""]) => name));

/** Languages of blocks that people type into a shell. */
const SHELLS = new Set(["sh", "bash", "shell", "console"]);

/** The first names of our configuration: a YAML block that has one of them and no other is a file of ours. */
const ROOTS = new Set(ALL_KEYS.map(({ path }) => path.split(".", 1)[0] ?? ""));

interface Typed {
  readonly path: string;
  /** One command line, without a backslash at its end, its continuation in the block, or a comment. */
  readonly line: string;
}

/** Every command line of a document: those of shell blocks, and pieces of prose in back quotes. */
function typedIn({ path, text }: ProjectFile): Typed[] {
  const blocks = codeBlocksOf(text).filter(({ language }) => SHELLS.has(language));
  const ofBlocks = blocks.flatMap(({ code }) => code.replaceAll(/\\\n\s*/g, " ").split("\n"));
  const prose = text.replaceAll(/^ *```[\s\S]*?^ *```/gm, "");
  const ofProse = Array.from(prose.matchAll(/`([^`]+)`/g), ([, words = ""]) => words.replaceAll(/\s+/g, " "));
  return [...ofBlocks, ...ofProse].map((line) => ({ path, line: line.replace(/(^|\s)#.*/, "").trim() }));
}

const TYPED = DOCUMENTS.flatMap(typedIn);

/** Options of a command line: `--only` of `--only=a` and of `--only a`. */
function optionsOf(line: string): string[] {
  return Array.from(line.matchAll(/(?:^|\s)--([a-zA-Z][\w.-]*)/g), ([, name = ""]) => name);
}

describe("commands that documents name", () => {
  test("every tonearm command in a document exists", () => {
    const called = TYPED.flatMap(({ path, line }) =>
      Array.from(line.matchAll(/(?:^|[;&|] |npx (?:--yes |--no )?)tonearm ([a-z]\w*)/g), ([, name = ""]) => ({
        path,
        name,
      })),
    );
    expect(called.filter(({ name }) => !COMMANDS.has(name))).toEqual([]);
    expect(called.length).toBeGreaterThan(3);
    expect(COMMANDS.size).toBeGreaterThan(2);
  });

  test("every option in a tonearm command is one of the command's, or a key of the configuration", () => {
    const wrong = TYPED.flatMap(({ path, line }) => {
      const call = /^(?:npx (?:--yes |--no )?tonearm|tonearm|npm start --|npm run (?:start|doctor) --) (.*)$/.exec(
        line,
      )?.[1];
      const hasOwnOptions = /^(?:demo|canary) /.test(call ?? "");
      const known = (name: string) => GENERAL_OPTIONS.has(name) || findByPath(name.split(".")) !== undefined;
      const names = hasOwnOptions ? [] : optionsOf(call ?? "").filter((name) => !known(name));
      return names.map((name) => `${path}: --${name}`);
    });
    expect(wrong).toEqual([]);
    expect(TYPED.filter(({ line }) => /^npm start -- --server\.port/.test(line)).length).toBeGreaterThan(0);
  });

  test("every name that a document passes to npm run bench, npm run lab or tonearm-lab is in the table of the lab", () => {
    const named = TYPED.flatMap(({ path, line }) => {
      const { command, program } = labCallOf(line.replace(/^(?:[A-Z_]+=\S+ )*/, ""));
      return ["", "NAME"].includes(program) ? [] : [{ path, command, program }];
    });
    expect(named.filter(({ command, program }) => LAB_COMMANDS[command]?.[program] === undefined)).toEqual([]);
    expect(named.length).toBeGreaterThan(30);
  });

  test("every option in a command of the lab exists in its program", () => {
    const used = TYPED.flatMap(({ path, line }) => {
      const { command, program } = labCallOf(line);
      const folder = sourcesOf(command, program);
      return folder === undefined ? [] : optionsOf(line).map((name) => ({ path, command, name, folder }));
    });
    const wrong = used.filter(({ name, folder }) => !new RegExp(`\\b${name}\\b`).test(textOf(folder)));
    expect(wrong.map(({ path, command, name }) => `${path}: ${command} --${name}`)).toEqual([]);
    expect(used.length).toBeGreaterThan(10);
  });

  test("every option in a command of the encoder's lab exists", () => {
    const used = TYPED.flatMap(({ path, line }) => {
      const options = /^(?:npx --no )?opus-encoder-lab (.*)$/.exec(line)?.[1] ?? "";
      return optionsOf(options).map((name) => ({ path, name }));
    });
    const text = textOf("opus-encoder/lab/");
    expect(used.filter(({ name }) => !new RegExp(`^ {2}--${name} `, "m").test(text))).toEqual([]);
    expect(used.length).toBeGreaterThan(1);
  });

  /** The command of the lab that a line begins with, and the name of a program; both empty for other lines. */
  function labCallOf(line: string): { readonly command: string; readonly program: string } {
    const [, script, ofPackage = "", program = ""] =
      /^(?:npm run (bench|lab) --|(?:npx --no )?(tonearm-lab))(?: (\S+))?/.exec(line) ?? [];
    return { command: script ?? ofPackage, program };
  }

  /** Where a program is in the sources; undefined for one that takes its options from elsewhere. */
  function sourcesOf(command: string, name: string): string | undefined {
    const program = LAB_COMMANDS[command]?.[name];
    return program === undefined ? undefined : `lab/${posix.dirname(program.module)}/`;
  }

  function textOf(folder: string): string {
    return projectFiles(folder)
      .map(({ text }) => text)
      .join("\n");
  }
});

test("every environment variable in a document sets a key", () => {
  const named = DOCUMENTS.flatMap(({ path, text }) =>
    Array.from(text.matchAll(/(?<![\w$.{/-])([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?![\w(*…]|_…)/g), ([, name = ""]) => ({
      path,
      name,
    })),
  ).filter(({ name }) => isOurVariable(name));
  expect(named.filter(({ name }) => findByVariable(name) === undefined)).toEqual([]);
  expect(named.length).toBeGreaterThan(50);
});

describe("configuration that documents show", () => {
  const files = DOCUMENTS.flatMap(({ path, text }) =>
    codeBlocksOf(text)
      .filter(({ language, code }) => /^ya?ml$/.test(language) && isOurs(code))
      .map(({ code, line }) => ({ location: `${path}:${line}`, code })),
  );

  function isOurs(code: string): boolean {
    const value: unknown = parseDocument(code).toJS();
    const names = typeof value === "object" && value !== null ? Object.keys(value) : [];
    return names.length > 0 && names.every((name) => ROOTS.has(name.split(".", 1)[0] ?? ""));
  }

  function load(code: string): LoadedConfig {
    return loadConfig({
      args: [],
      env: {},
      cwd: "/app",
      realPath: (path: string) => path,
      coreCount: 4,
      readFile: (path) => (path === "/app/tonearm.yml" ? code : undefined),
    });
  }

  test("every configuration in a document is valid, without unknown keys", () => {
    const wrong = files.flatMap(({ location, code }) => {
      try {
        const unknown = load(code).warnings.filter((warning) => warning.includes("is not a known key"));
        return unknown.map((warning) => `${location}: ${warning}`);
      } catch (error) {
        return [`${location}: ${String(error)}`];
      }
    });
    expect(wrong).toEqual([]);
    expect(files.length).toBeGreaterThan(4);
  });

  test("a page that adds a client key shows the configuration with which that works", () => {
    const pages = DOCUMENTS.filter(({ text }) =>
      codeBlocksOf(text).some(
        ({ language, code }) => SHELLS.has(language) && /^(?:sudo )?tonearm keys add /m.test(code),
      ),
    );
    expect(pages.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["docs/how-to/install.md", "docs/how-to/tls-and-keys.md"]),
    );
    for (const { path, text } of pages) {
      const shown = files.filter(({ location, code }) => location.startsWith(`${path}:`) && code.includes("keys:"));
      const echoed = Array.from(text.matchAll(/^echo '([^']+)' \| sudo tee/gm), ([, line = ""]) => line);
      const cwd = mkdtempSync(join(tmpdir(), "tonearm-page-"));
      writeFileSync(join(cwd, "tonearm.yml"), [...echoed, ...shown.map(({ code }) => code)].join("\n"));
      const output: string[] = [];
      try {
        keysCommand(["add", "music-bot"], { cwd, write: (text) => output.push(text) });
      } finally {
        rmSync(cwd, { recursive: true });
      }
      expect(output.join(), path).toContain("The key for music-bot is");
    }
  });

  test("every option of a built-in plugin in a document exists", () => {
    const problems = files.flatMap(({ location, code }) =>
      planPlugins(load(code).config, {
        cwd: "/nowhere",
        builtinFolder: new URL("file:///app/plugins/"),
        builtins: BUILTIN_PLUGINS,
      }).flatMap(({ name, optionsOf }) => {
        const manifest = BUILTIN_PLUGINS.find((plugin) => plugin.manifest.name === name)?.manifest;
        if (manifest === undefined || name === undefined) return [];
        const reading = readOptions(manifest.config, optionsOf(name), { path: `plugins.${name}` });
        return (reading.problems ?? []).map((problem) => `${location}: ${problem}`);
      }),
    );
    expect(problems).toEqual([]);
  });
});
