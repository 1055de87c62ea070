// config.example.yml as the schema says it: every key with its meaning, unit, range, default and environment variable.

import { KEY_ENTRIES, variableNameOf } from "../../src/config/schema.ts";
import type { KeyEntry } from "../../src/config/section.ts";

const COLUMNS = 100;

const HEADER = `# Every key of Tonearm's configuration, with its default. Copy what you need into tonearm.yml (or keep the
# application.yml you have from Lavalink) in the folder you start the node in.
#
# A key can also be given as environment variable (named behind "Variable") or on the command line:
# --server.port=2333. The command line goes before the environment, the environment before the file. In the file,
# \${NAME:default} stands for the environment variable NAME. Lists can be written as one text, with commas.
# This file is made from the schema in src/config/sections; a test keeps the two equal.
`;

interface Group {
  readonly groups: Map<string, Group>;
  entry: KeyEntry | undefined;
}

export function renderConfigExample(): string {
  const root: Group = { groups: new Map(), entry: undefined };
  for (const entry of KEY_ENTRIES) groupAt(root, entry.path.split(".")).entry = entry;
  return `${HEADER}${renderGroups(root, 0)}`;
}

function groupAt(root: Group, names: readonly string[]): Group {
  let group = root;
  for (const name of names) {
    const next: Group = group.groups.get(name) ?? { groups: new Map(), entry: undefined };
    group.groups.set(name, next);
    group = next;
  }
  return group;
}

function renderGroups(group: Group, depth: number): string {
  const indent = "  ".repeat(depth);
  return [...group.groups]
    .map(([name, child]) => {
      const gap = depth === 0 || child.entry !== undefined ? "\n" : "";
      if (child.entry !== undefined) return gap + renderKey(name, child.entry, indent);
      return `${gap}${indent}${name}:\n${renderGroups(child, depth + 1)}`;
    })
    .join("");
}

function renderKey(name: string, entry: KeyEntry, indent: string): string {
  const { docs, defaultText, expected, shape } = entry.key;
  const unit = docs.unit === undefined ? "" : ` (${docs.unit})`;
  const fact = `${capital(expected)}${unit}; default: ${docs.defaultNote ?? quoted(defaultText)}.`;
  const variable = `Variable: ${variableNameOf(entry)}${shape === "map" || shape === "tree" ? "_…" : ""}`;
  const noEffect = docs.noEffect === undefined ? [] : [`No effect: ${docs.noEffect}.`];
  const comment = [docs.meaning, fact, ...noEffect, variable].flatMap((text) => wrap(text, COLUMNS - indent.length));
  const line = defaultText === undefined ? `#${name}: ${docs.example}` : `${name}: ${yamlText(defaultText)}`;
  return `${comment.map((text) => `${indent}# ${text}\n`).join("")}${indent}${line}\n`;
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function quoted(text: string | undefined): string {
  return text === "" ? "empty" : String(text);
}

function yamlText(text: string): string {
  return text === "" ? '""' : text;
}

function wrap(text: string, columns: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last.length + word.length + 1 > columns) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines;
}
