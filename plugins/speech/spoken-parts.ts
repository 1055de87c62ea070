// Cuts a text into parts that are short enough to be read out, where a reader would take breath. Plugin thread.

/** A part that ends earlier than this share of it, for the sake of a sentence, would make too many of them. */
const SHORT_SHARE = 0.3;
const SENTENCE_END = /[.!?\u2026]["'\u201d\u2019)]*(?=\s)|[\u3002\uff01\uff1f]/g;
const PAUSE = /[,;:](?=\s)|[\u3001\uff0c]/g;
const GAP = /\s/g;

/** Parts of 1 to `lengthMax` characters: up to the last end of a sentence, else of a clause, else of a word. */
export function spokenParts(text: string, lengthMax: number): string[] {
  const parts: string[] = [];
  let rest = text.replace(/\s+/g, " ").trim();
  while (rest.length > lengthMax) {
    const end = endOfPart(rest, lengthMax);
    parts.push(rest.slice(0, end).trim());
    rest = rest.slice(end).trim();
  }
  if (rest !== "") parts.push(rest);
  return parts;
}

function endOfPart(text: string, lengthMax: number): number {
  // One more: a part may end right before a gap.
  const window = text.slice(0, lengthMax + 1);
  for (const pattern of [SENTENCE_END, PAUSE, GAP]) {
    const ends = [...window.matchAll(pattern)].map((match) => match.index + match[0].trimEnd().length);
    const end = ends.findLast((candidate) => candidate <= lengthMax);
    if (end !== undefined && end >= lengthMax * (pattern === GAP ? 0 : SHORT_SHARE) && end > 0) return end;
  }
  // One long word; a character of two halves is not cut in two.
  const isHalf = /[\uD800-\uDBFF]/.test(text.charAt(lengthMax - 1));
  return isHalf && lengthMax > 1 ? lengthMax - 1 : lengthMax;
}
