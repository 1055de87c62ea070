// Text whose encoding is not declared, or declared wrongly more often than not: playlists, station names and titles,
// ID3, RIFF, APE, Vorbis comments. Everything that shows such text decodes it here. Audio and probe threads.

/** Share of the letters beyond ASCII that must stand in Cyrillic words, so that the text is taken for Russian. */
const CYRILLIC_SHARE = 0.75;
/** Letters beyond ASCII in Cyrillic words; fewer prove nothing. */
const CYRILLIC_LETTERS_MIN = 3;
/** The vowels of Russian in Windows-1251, upper and lower case: every word of three letters has one. */
const CYRILLIC_VOWELS = new Set([..."аеёиоуыэюяАЕЁИОУЫЭЮЯ"].map(cyrillicByte));

/**
 * Decodes by a byte order mark; as UTF-8 if it is valid, apart from a last character that is cut off; as Windows-1251
 * if it consists of Russian words in it; else as Windows-1252.
 */
export function decodeText(bytes: Uint8Array): string {
  // With `stream`, half a character at the end is left out.
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes, { stream: true });
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes, { stream: true });
  return utf8TextOf(bytes) ?? new TextDecoder(isCyrillic(bytes) ? "windows-1251" : "windows-1252").decode(bytes);
}

/** Decodes a header value that the HTTP parser read as Latin-1; text that is not Latin-1 is already decoded. */
export function decodeHeaderText(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of Latin-1
  return /^[\x00-\xff]*$/.test(value) ? decodeText(Buffer.from(value, "latin1")) : value;
}

function utf8TextOf(bytes: Uint8Array): string | undefined {
  try {
    // With `stream`, a character that is cut off at the end is no error: tags have limits in bytes.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    const isWhole = (bytes.at(-1) ?? 0) < 0x80 || isValidUtf8(bytes);
    // One letter beyond ASCII at the very end is Latin-1 rather than the beginning of a character.
    return isWhole || /[\u0080-\uffff]/.test(text) ? text : undefined;
  } catch {
    // Not UTF-8, which is one of the expected cases.
    return undefined;
  }
}

function isValidUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false; // the answer reports it
  }
}

/** True when the letters beyond ASCII form words, as in Russian; in western languages they stand between others. */
function isCyrillic(bytes: Uint8Array): boolean {
  let letterCount = 0;
  let inWordsCount = 0;
  let wordLetters = 0;
  let hasVowel = false;
  for (let at = 0; at <= bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte >= 0xc0 || byte === 0xa8 || byte === 0xb8) {
      letterCount += 1;
      wordLetters += 1;
      hasVowel ||= CYRILLIC_VOWELS.has(byte);
      continue;
    }
    // "Ña", "Ñan": letters of ASCII around make it a word of another language.
    const isWord = wordLetters >= 3 || (wordLetters > 0 && !isAsciiLetter(byte) && inWordsCount > 0);
    if (isWord && hasVowel) inWordsCount += wordLetters;
    wordLetters = 0;
    hasVowel = false;
  }
  return inWordsCount >= CYRILLIC_LETTERS_MIN && inWordsCount >= CYRILLIC_SHARE * letterCount;
}

function isAsciiLetter(byte: number): boolean {
  return (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
}

function cyrillicByte(letter: string): number {
  if (letter === "ё") return 0xb8;
  if (letter === "Ё") return 0xa8;
  return letter.charCodeAt(0) - 0x410 + 0xc0;
}
