// docs/reference/configuration.md as the keys say it: what the node knows, by topic, then what it knows and ignores.

import { ALL_KEYS } from "../../src/config/keys/all-keys.ts";
import type { Key } from "../../src/config/keys/key.ts";
import { factOf, variableTextOf, wrap } from "./key-texts.ts";

const COLUMNS = 120;

const HEADER = `# Configuration

Made from the keys in src/config/keys, as [config.example.yml](../../config.example.yml) is; a test keeps them equal.
How values are read, and what differs from Lavalink, is in [docs/decisions/config.md](../decisions/config.md).

Every key can stand in the file (\`tonearm.yml\` or \`application.yml\`), be an environment variable, or an argument:
\`--server.port=2333\`. The command line goes before the environment, the environment before the file. Behind each key
is what it may be, its default, and its environment variable.
`;

const WITHOUT_EFFECT = `## Without effect

Known from Lavalink and checked, but they change nothing.
`;

export function renderConfigReference(): string {
  const isUseful = ({ docs }: Key<unknown>): boolean => docs.noEffect === undefined;
  const useful = ALL_KEYS.filter(isUseful);
  const groups = [...new Set(useful.map(groupOf))].map((group) => {
    const keys = useful.filter((key) => groupOf(key) === group);
    return `## \`${group}\`\n\n${keys.map(renderKey).join("")}`;
  });
  const useless = ALL_KEYS.filter((key) => !isUseful(key)).map(renderUseless);
  return `${[HEADER, ...groups, WITHOUT_EFFECT].join("\n")}\n${useless.join("")}`;
}

/** The path of what a key lies in: `lavalink.server`. One at the root is a group of its own. */
function groupOf({ path }: Key<unknown>): string {
  return path.includes(".") ? path.slice(0, path.lastIndexOf(".")) : path;
}

function renderKey(key: Key<unknown>): string {
  const name = key.path.slice(groupOf(key).length + 1) || key.path;
  const lines = wrap(`\`${name}\`: ${key.docs.meaning} ${factOf(key)} \`${variableTextOf(key)}\``, COLUMNS - 2);
  return `- ${lines.join("\n  ")}\n`;
}

function renderUseless({ path, docs }: Key<unknown>): string {
  return `- ${wrap(`\`${path}\`: ${docs.noEffect}.`, COLUMNS - 2).join("\n  ")}\n`;
}
