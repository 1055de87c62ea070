// Parses a page of the tutorial into steps: terminal commands, files to write, input in Discord, and the expected
// output. Uses only what a reader sees on the page:
//
// - a block `sh`: commands, one a line;
// - a block whose paragraph before it is only a file's name ("`bot.mjs`:"): a file with these lines;
// - a block `text` that begins with a slash: input in Discord;
// - any other block `text`: the output of the last of these; "…" stands for anything, and any number for any other.

import { readFileSync } from "node:fs";
import { PROJECT_ROOT } from "../../support/project-files.ts";

/** The expected output: each of these somewhere. Empty: nothing in particular. */
export type Shown = readonly RegExp[];

export type Step =
  | { readonly kind: "command"; readonly line: string; shown: Shown }
  | { readonly kind: "file"; readonly name: string; readonly text: string }
  | { readonly kind: "typed"; readonly text: string; shown: Shown };

const FENCE = /(?:^|\n)([^\n]*)\n\n```(\w*)\n([\s\S]*?)\n```(?=\n|$)/g;

/** The page's sections by their headings of the second level, in order. */
export function readPage(path: string): ReadonlyMap<string, string> {
  const [, ...sections] = readFileSync(PROJECT_ROOT + path, "utf8").split(/^## /m);
  return new Map(sections.map((section) => [section.slice(0, section.indexOf("\n")), section]));
}

/** The steps of a section. Throws where a block is none of the kinds above. */
export function stepsIn(section: string): Step[] {
  const steps: Step[] = [];
  const blocks = [...section.matchAll(FENCE)];
  if (blocks.length * 2 !== section.match(/```/g)?.length) throw new Error("a block without a separate line before it");
  for (const [, before = "", language = "", text = ""] of blocks) {
    const name = /^`([\w.-]+)`:$/.exec(before)?.[1];
    const last = steps.at(-1);
    if (name !== undefined) steps.push({ kind: "file", name, text: `${text}\n` });
    else if (language === "sh") {
      steps.push(...text.split("\n").map((line) => ({ kind: "command" as const, line, shown: [] })));
    } else if (language === "text" && text.startsWith("/")) steps.push({ kind: "typed", text, shown: [] });
    else if (language === "text" && last !== undefined && last.kind !== "file") last.shown = shownAs(text);
    else throw new Error(`what shall a reader do with this?\n${text}`);
  }
  return steps;
}

/** Each block `text` of a section where nothing is to be done. */
export function messagesIn(section: string): Shown[] {
  return Array.from(section.matchAll(FENCE), ([, , , text = ""]) => shownAs(text));
}

function shownAs(text: string): Shown {
  return text.split("\n").map((line) => {
    const escaped = line.trim().replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return new RegExp(escaped.replace(/\d+/g, "\\d+").replace(/\s*…\s*/g, ".*"));
  });
}
