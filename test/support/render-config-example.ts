// config.example.yml, generated from the keys: every key that has an effect, with its meaning, unit, range, default and
// environment variable.

import { ALL_KEYS } from "../../src/config/keys/all-keys.ts";
import type { Key } from "../../src/config/keys/key.ts";
import { factOf, variableTextOf, wrap } from "./key-texts.ts";

const COLUMNS = 100;

const HEADER = `\
# Every key of Tonearm's configuration, with its default. Copy what you need into tonearm.yml (or keep the
# application.yml you have from Lavalink) in the folder you start the node in.
#
# A key can also be given as environment variable (named behind "Variable") or on the command line:
# --server.port=2333. The command line goes before the environment, the environment before the file. In the file,
# \${NAME:default} stands for the environment variable NAME. Lists can be written as one text, with commas.
#
# Lavalink's other keys (buffers, garbage collection, Sentry, Spring and the like) are accepted and ignored. The log
# names each one that you set; docs/reference/configuration.md#without-effect lists them with the reasons.
#
# This file is made from the keys in src/config/keys; a test keeps the two equal.
`;

interface Group {
  readonly groups: Map<string, Group>;
  key: Key<unknown> | undefined;
}

export function renderConfigExample(): string {
  const root: Group = { groups: new Map(), key: undefined };
  for (const key of ALL_KEYS) {
    if (key.docs.noEffect === undefined) groupAt(root, key.path.split(".")).key = key;
  }
  return `${HEADER}${renderGroups(root, 0)}`;
}

function groupAt(root: Group, names: readonly string[]): Group {
  let group = root;
  for (const name of names) {
    const next: Group = group.groups.get(name) ?? { groups: new Map(), key: undefined };
    group.groups.set(name, next);
    group = next;
  }
  return group;
}

function renderGroups(group: Group, depth: number): string {
  const indent = "  ".repeat(depth);
  return [...group.groups]
    .map(([name, child]) => {
      const gap = depth === 0 || child.key !== undefined ? "\n" : "";
      if (child.key !== undefined) return gap + renderKey(name, child.key, indent);
      return `${gap}${indent}${name}:\n${renderGroups(child, depth + 1)}`;
    })
    .join("");
}

function renderKey(name: string, key: Key<unknown>, indent: string): string {
  const { docs, defaultText } = key;
  const texts = [docs.meaning, factOf(key), `Variable: ${variableTextOf(key)}`];
  const comment = texts.flatMap((text) => wrap(text, COLUMNS - indent.length));
  const line = defaultText === undefined ? `#${name}: ${docs.example}` : `${name}: ${defaultText || '""'}`;
  return `${comment.map((text) => `${indent}# ${text}\n`).join("")}${indent}${line}\n`;
}
