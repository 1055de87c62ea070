// Recognises a configuration file that is not YAML at all, so that it gives one sentence instead of a mistake a line.
// JSON is YAML and is read. Main thread, at start.

/** How far the first line with content is searched. */
const SEARCHED_LENGTH_MAX = 20_000;

/** How a first line of JavaScript or TypeScript begins. */
const JAVASCRIPT = [
  /^export\s*(?:[{*]|(?:default|const|let|var|async|function|class|abstract|declare|enum|interface|type)\b(?!\s*:))/,
  /^(?:module\.)?exports\b[\w.]*\s*=/,
  /^(?:const|let|var)\s+[\w{[$][^:]*=/,
  /^(?:const|let|var)\s+[\w$]+\s*:[^=]*=\s*(?:[[{(]|$)/,
  /^import\s*(?:[{*'"(]|type\b(?!\s*:)|[^:]*['"]|[\w$]+\s*,\s*\{)/,
  /^['"]use strict['"]\s*;?$/,
  /^[;(]*(?:await\s+)?require\s*\(/,
  /^[;(]*(?:async\s+)?function\b[^:]*[({]/,
  /^[;(]+(?:async\s*)?(?:\([^:]*\)|[\w$]+)\s*=>/,
  /^Object\.defineProperty\s*\(/,
  /^class\s+[\w$]+[^:]*\{/,
  /^process\.env\b(?!\s*:)/,
];
const JAVASCRIPT_NAME = /\.[cm]?[jt]s$/i;
/** No YAML map starts with such a line: `server.port=2333`, `[server]`, `<!DOCTYPE html>`. */
const ASSIGNMENT = /^(?:export\s+)?[\w.[\]-]+\s*=(?!\s*:)/;
const SECTION = /^\[\[?[\w.-]+\]?\]\s*(?:#.*)?$/;
const MARKUP = /^<[!?a-z]/i;

/** The sentence that says what the file is and what to do; undefined for what may be YAML. */
export function foreignFormat(text: string, fileName: string): string | undefined {
  const line = firstLine(text);
  if (JAVASCRIPT_NAME.test(fileName) || JAVASCRIPT.some((pattern) => pattern.test(line))) {
    return (
      "this is JavaScript, as NodeLink's configuration is; Tonearm reads YAML. docs/how-to/from-nodelink.md says which " +
      "keys to write instead"
    );
  }
  if (SECTION.test(line))
    return "this is a TOML file; Tonearm reads YAML: write [server] as server: with its keys below";
  if (ASSIGNMENT.test(line)) {
    return (
      "this is a list of name=value lines (.properties, .env, TOML); Tonearm reads YAML: write server.port=2333 as " +
      "server.port: 2333"
    );
  }
  if (MARKUP.test(line))
    return "this is HTML or XML, perhaps a page that was downloaded by mistake; Tonearm reads YAML";
  return undefined;
}

/** The first line that is neither empty nor a comment in any of these languages. */
function firstLine(text: string): string {
  const start = text.slice(0, SEARCHED_LENGTH_MAX).replace(/^\uFEFF/, "");
  let isInBlock = false;
  for (const written of start.split(/\r?\n/)) {
    let line = written.trim();
    if (!isInBlock && line.startsWith("/*")) isInBlock = true;
    if (isInBlock) {
      const end = line.indexOf("*/");
      if (end < 0) continue;
      isInBlock = false;
      line = line.slice(end + 2).trim();
    }
    if (line !== "" && !/^(?:#|\/\/|;|!\s)/.test(line)) return line;
  }
  return "";
}
