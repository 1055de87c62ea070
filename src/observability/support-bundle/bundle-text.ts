// Combines the parts of a support bundle into one Markdown text that fits into an issue. Does not know where the parts
// come from, and hides nothing: the caller has done that. A leaf, main thread.

/** One part: a heading, and lines that are shown as they are. */
export interface BundlePart {
  readonly title: string;
  readonly text: string;
  /** Characters of `text` at most. */
  readonly lengthMax: number;
  /** Which end is worth more, when it is too long. Default: the beginning. */
  readonly keeps?: "beginning" | "end";
}

/** `heading` and an introduction, then each part in a separate code block that none of its lines can end. */
export function bundleText(heading: string, words: string, parts: readonly BundlePart[]): string {
  return `${[`# ${heading}`, words, ...parts.map(partText)].join("\n\n")}\n`;
}

function partText(part: BundlePart): string {
  return `## ${part.title}\n\n\`\`\`text\n${cut(harmless(part.text), part)}\n\`\`\``;
}

/** Removes the characters that would end the block, and those that change how text is displayed. */
function harmless(text: string): string {
  return text
    .replaceAll("```", "'''")
    .replaceAll(/[^\n\t\P{C}]/gu, "?")
    .trimEnd();
}

/** Whole lines, as many as fit, and how many do not. */
function cut(text: string, { lengthMax, keeps = "beginning" }: BundlePart): string {
  if (text.length <= lengthMax) return text === "" ? "none" : text;
  const lines = text.split("\n");
  if (keeps === "end") lines.reverse();
  const retained: string[] = [];
  let length = 0;
  for (const line of lines) {
    const whole = line.length > lengthMax ? `${line.slice(0, lengthMax - 2)}…` : line;
    length += whole.length + 1;
    if (length > lengthMax) break;
    retained.push(whole);
  }
  const note = `… ${lines.length - retained.length} lines are left out`;
  return keeps === "end" ? [note, ...retained.reverse()].join("\n") : [...retained, note].join("\n");
}
