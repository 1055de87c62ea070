// The words for yes and no that operators write, in configurations and options of plugins. A leaf, any thread.

const FLAG_WORDS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["yes", true],
  ["on", true],
  ["1", true],
  ["false", false],
  ["no", false],
  ["off", false],
  ["0", false],
]);

/** `true`, `yes`, `on`, `1` and their opposites, in any mix of upper and lower case; undefined for anything else. */
export function parseFlag(text: string): boolean | undefined {
  return FLAG_WORDS.get(text.trim().toLowerCase());
}
