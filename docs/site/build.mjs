// @ts-check
// `npm run docs`: installs the site generator, a separate package so that others need not install it, prepares the
// pages for the site, and builds it in docs/site/dist. `--serve` then serves it on this machine.

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { linksOf } from "./markdown.mjs";
import { readOpenApi } from "./openapi-document.mjs";
import { openApiPage } from "./openapi-page.mjs";
import { forTheSite, isElsewhere, PAGES, routeOf, sourcesUrlOf } from "./pages.mjs";
import { CONFIG_EXAMPLE_PAGE, OPENAPI_PAGE } from "./side-bar.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SITE = fileURLToPath(new URL("./", import.meta.url));
const LAID_OUT = `${SITE}tmp/pages`;
const PORT = "4173";

if (!isInstalled()) run("npm ci", { shell: true });
const { repository } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"));
const sourcesUrl = sourcesUrlOf(repository.url);
const document = await readOpenApi();
layOut(document);
generate("build");
if (process.argv.includes("--serve")) generate("preview", "--host", "127.0.0.1", "--port", PORT);

/** Whether the generator is installed in the version of the lock file. */
function isInstalled() {
  const installed = `${SITE}node_modules/.package-lock.json`;
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${SITE}package-lock.json`).mtimeMs;
}

/** @param {Record<string, any>} openApi */
function layOut(openApi) {
  rmSync(LAID_OUT, { recursive: true, force: true });
  for (const path of PAGES) {
    const text = textOf(path, openApi);
    write(`${LAID_OUT}${routeOf(path) === "/" ? "/index" : routeOf(path)}.md`, forTheSite(text, { path, sourcesUrl }));
    for (const { isImage, target } of linksOf(text)) {
      if (!isImage || isElsewhere(target)) continue;
      cpSync(ROOT + posix.join(posix.dirname(path), target), LAID_OUT + posix.join(routeOf(path) ?? "", "..", target));
    }
  }
  cpSync(`${SITE}theme/icon.svg`, `${LAID_OUT}/public/icon.svg`);
  write(`${LAID_OUT}/public/openapi.json`, `${JSON.stringify(openApi, null, 2)}\n`);
}

/**
 * @param {string} path
 * @param {Record<string, any>} openApi
 */
function textOf(path, openApi) {
  if (path === OPENAPI_PAGE) return openApiPage(openApi);
  if (path === CONFIG_EXAMPLE_PAGE) return configExamplePage(readFileSync(`${ROOT}config.example.yml`, "utf8"));
  return readFileSync(ROOT + path, "utf8");
}

/** @param {string} example */
function configExamplePage(example) {
  return `# A configuration file with every key

This is \`config.example.yml\`: every key with its meaning, range and default. By topic they are in
[Configuration](configuration.md).

\`\`\`yaml
${example}\`\`\`
`;
}

/**
 * @param {string} file
 * @param {string} text
 */
function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** @param {string[]} args */
function generate(...args) {
  run(process.execPath, { args: [`${SITE}node_modules/@rspress/core/bin/rspress.js`, ...args] });
}

/**
 * @param {string} command
 * @param {{ readonly args?: readonly string[], readonly shell?: boolean }} options
 */
function run(command, { args = [], shell = false }) {
  const { status, error } = spawnSync(command, args, { cwd: SITE, shell, stdio: "inherit" });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
