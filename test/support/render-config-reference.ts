// docs/reference/configuration.md, generated from the keys: the supported keys by topic, then the known and ignored
// ones.

import { ALL_KEYS } from "../../src/config/keys/all-keys.ts";
import type { Key } from "../../src/config/keys/key.ts";
import { variableTextOf, wrap } from "./key-texts.ts";

const COLUMNS = 120;

const HEADER = `# Configuration

Keys are set, in order of precedence, on the command line (\`--server.port=2333\`), by environment variable, or in
\`tonearm.yml\` or \`application.yml\` ([details](../decisions/config.md#where-values-come-from)). Empty defaults are not
shown. See also [config.example.yml](../../config.example.yml) and the
[differences from Lavalink](compatibility.md#configuration).
`;

const WITHOUT_EFFECT = `## Without effect

Lavalink keys that are checked but change nothing.
`;

export function renderConfigReference(): string {
  const isUseful = ({ docs }: Key<unknown>): boolean => docs.noEffect === undefined;
  const useful = ALL_KEYS.filter(isUseful);
  const groups = [...new Set(useful.map(groupOf))].map((group) => {
    const keys = useful.filter((key) => groupOf(key) === group);
    return `## \`${group}\`\n\n${keys.map(renderKey).join("")}`;
  });
  const reasons = new Set(ALL_KEYS.map(({ docs }) => docs.noEffect).filter((reason) => reason !== undefined));
  const useless = [...reasons].map(renderUseless);
  return `${[HEADER, ...groups, WITHOUT_EFFECT].join("\n")}\n${useless.join("")}`;
}

/** The path of a key's parent: `lavalink.server`. A key at the root is a separate group. */
function groupOf({ path }: Key<unknown>): string {
  return path.includes(".") ? path.slice(0, path.lastIndexOf(".")) : path;
}

function renderKey(key: Key<unknown>): string {
  const name = key.path.slice(groupOf(key).length + 1) || key.path;
  const lines = wrap(`\`${name}\`: ${key.docs.meaning}${factOf(key)} \`${variableTextOf(key)}\``, COLUMNS - 2);
  return `- ${lines.join("\n  ")}\n`;
}

/** Values, unless the default shows them, and the default, unless it is empty: `Range 1 to 3600 (seconds); default: 5.` */
function factOf({ docs, defaultText, expected }: Key<unknown>): string {
  const values = expected
    .replace(/^(?:a text|true or false)$/, "")
    .replace(/^a whole number from (\S+) to /, "range $1 to ")
    .replace(/^a list of: /, "list of: ");
  const unit = docs.unit === undefined ? "" : ` (${docs.unit})`;
  const defaultValue = docs.defaultNote ?? String(defaultText);
  const hasDefault = !["", "[]"].includes(defaultValue) && docs.defaultNote !== "none";
  const facts = [...(values === "" ? [] : [values + unit]), ...(hasDefault ? [`default: ${defaultValue}`] : [])];
  return facts.length === 0 ? "" : ` ${sentenceOf(facts.join("; "))}`;
}

function sentenceOf(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}

function renderUseless(reason: string): string {
  const keys = ALL_KEYS.filter(({ docs }) => docs.noEffect === reason);
  const names = keys.map(({ path }) => `\`${path}\``).join(", ");
  return `- ${wrap(`${names}: ${reason}.`, COLUMNS - 2).join("\n  ")}\n`;
}
