// Tells what an operator has written from what an example file has in its place. Pure. Plugin thread.

/** As example files of LavaSrc and others have them. */
const PLACEHOLDER =
  /^(?:(?:your|insert|enter|change)[\s_-]|<|\$\{|x{3,}$|\.{3}|(?:spotify[\s_-]?)?client[\s_-]?(?:id|secret)$)/i;

/** The text without the blanks around it; undefined for a placeholder, and where there is none. */
export function filledIn(text: string | undefined): string | undefined {
  const trimmed = text?.trim() ?? "";
  return trimmed === "" || PLACEHOLDER.test(trimmed) ? undefined : trimmed;
}
