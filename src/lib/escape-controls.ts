// Makes a text harmless for a terminal and its reader: what would move the cursor, break the line or
// turn the direction of writing is shown as an escape. A leaf, on all threads.

/** Control characters, line and paragraph separators, marks of direction, the mark of byte order. */
const INVISIBLE = /[^\n\t\P{Cc}]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

/** U+009B becomes `\u009b`, which is the same within a text of JSON. Line breaks and tabs stay. */
export function escapeControls(text: string): string {
  return text.replaceAll(INVISIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
