// The words of titles and artists as sites write them, without what says nothing about the recording ("Official
// Video", "- Topic", "feat. …"). Any thread; used to compare recordings and for the text of a search.

import { EDITION_PHRASES, EMPTY_ARTIST_WORDS, EMPTY_PHRASES, EMPTY_WORDS, VERSIONS } from "./version-words.ts";

/** Characters of a title or an artist that are read. */
const TEXT_LENGTH_MAX = 300;
const NAMES_MAX = 20;
const SEARCH_LENGTH_MAX = 200;
const SIGNS_LENGTH_MAX = 100;
/** Vowel marks of Hebrew and Arabic, what stretches Arabic letters, and what selects the look of a character. */
const OPTIONAL_MARKS =
  /[\u0640\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u0652\u0670]|\p{Variation_Selector}/gu;
/** Letters that do not come apart into a base letter and an accent. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  ł: "l",
  đ: "d",
  ı: "i",
  þ: "th",
  ё: "е",
};
const NUMERALS: Readonly<Record<string, string>> = {
  ii: "2",
  iii: "3",
  iv: "4",
  vi: "6",
  vii: "7",
  viii: "8",
  ix: "9",
  pt: "part",
};
/** Who is featured: after `feat.`, or in brackets after `with`. */
const FEATURING =
  /(?:(?:^|[\s([{])(?:feat|ft|featuring|con la participación de|при участии)(?:\.\s*|\s+)|[([]with\s+)([^()[\]}|]*?)(?=\s?[-–—|/]\s|[()[\]}|「【]|$)/giu;
/** The film or game of a song. */
const FILM =
  /[([](?:from\s[^()[\]]*|[^()[\]]*(?<!\p{L})(?:ost|soundtrack|主題歌|саундтрек)(?!\p{L})[^()[\]]*)[)\]]|\s[-–—]\sfrom\s.*$/giu;
const SEPARATORS = /\s[-–—~:|/→_]+\s|-\s|\s*[|「」『』【】〈〉《》“”„"／｜♪]\s*|:\s|\s['‘]|['’](?=\s|$)|[–—]/u;
/** `02. Title` */
const TRACK_NUMBER = /^(?:0\d\s*[-–.]|\d{1,2}\.)\s+(?=\S)/;
const BRACKETS = /[([{（［]([^()[\]{}（）［］]*)[)\]}）］]/g;

const emptyWords = wordSet(EMPTY_WORDS);
const emptyArtistWords = wordSet(EMPTY_ARTIST_WORDS);
const kinds = Object.entries(VERSIONS).flatMap(([kind, words]) =>
  words.split(" ").map((word) => [word.replaceAll("_", " "), kind] as const),
);
/** Several words are one here, as in `tellingWords`. */
const kindsOfWords = new Map(kinds.map(([word, kind]) => [word.replaceAll(" ", ""), kind]));
const phrases = kinds.map(([word]) => word).filter((word) => word.includes(" "));
const PHRASES = new RegExp(`(?<![^ ])(?:${phrases.sort((a, b) => b.length - a.length).join("|")})(?![^ ])`, "g");
/** Scripts that do not divide words. */
const kindsWithin = kinds.filter(([word]) => /[\p{sc=Han}\p{sc=Kana}\p{sc=Hira}\p{sc=Hang}]/u.test(word));

export interface TitleParts {
  /** The words of each part between dashes, bars and quotation marks. */
  readonly segments: readonly (readonly string[])[];
  /** The words of each pair of brackets. */
  readonly brackets: readonly (readonly string[])[];
  /** Names one cut among several: `Radio Edit`, `Clean`. */
  readonly edition: string;
}

/**
 * In lower case, in one form of each character. Without accents of Latin and Greek letters, and what Arabic and Hebrew
 * may be written without.
 */
function plainText(text: string): string {
  return text
    .slice(0, TEXT_LENGTH_MAX)
    .toLowerCase()
    .normalize("NFKD")
    .replaceAll(/(?<=[\p{Script=Latin}\p{Script=Greek}])[\u0300-\u036f]+/gu, "")
    .replaceAll(OPTIONAL_MARKS, "")
    .normalize("NFC")
    .replaceAll(/[ßæœøłđıþё]/g, (letter) => LETTERS[letter] ?? letter)
    .replaceAll(/['’‘`´ʼ]/g, "")
    .replaceAll("&", " and ");
}

/** What a title without words is, whatever stands in brackets behind it: `÷`, `?`. Empty for others. */
export function signsOf(title: string): string {
  const outside = plainText(withoutFeatured(title).replaceAll(BRACKETS, " ").replaceAll(BRACKETS, " "));
  const [signs = ""] = signsIn(outside.trim() === "" ? plainText(title) : outside);
  return withoutHalves(signs.slice(0, SIGNS_LENGTH_MAX));
}

/** Of characters that are two surrogates: a link cannot have one of them alone. */
function withoutHalves(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, "");
}

function signsIn(plain: string): string[] {
  const signs = plain.replaceAll(/\s+/g, "");
  return signs === "" || wordsIn(plain).length > 0 ? [] : [signs];
}

function wordsIn(plain: string): string[] {
  return plain.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu) ?? [];
}

export function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(" "));
}

/** Without the artists who are featured, unless that says which version it is. */
function withoutFeatured(title: string): string {
  return title
    .slice(0, TEXT_LENGTH_MAX)
    .replaceAll(FEATURING, (all, names: string) => (versionKindsOf(wordsIn(plainText(names))).length > 0 ? all : " "));
}

/** Spells out letters that are written apart, and roman numbers. */
function evenWords(words: readonly string[]): string[] {
  return words
    .join(" ")
    .replaceAll(/(?<![^ ])[a-zа-я](?: [a-zа-я](?![^ ])){3,}/gu, (letters) => letters.replaceAll(" ", ""))
    .split(" ")
    .map((word) => NUMERALS[word] ?? word)
    .filter((word) => word !== "");
}

function withoutPhrases(words: readonly string[], phrases: readonly RegExp[]): string[] {
  return wordsIn(phrases.reduce((rest, phrase) => rest.replaceAll(phrase, " "), words.join(" ")));
}

/** The words that say something, of a part of a title. */
function tellingWords(part: string): string[] {
  const words = withoutPhrases(evenWords(wordsIn(plainText(part))), [...EMPTY_PHRASES, EDITION_PHRASES]);
  const joined = words.join(" ").replaceAll(PHRASES, (phrase) => phrase.replaceAll(" ", ""));
  return wordsIn(joined).filter((word) => !emptyWords.has(word));
}

/**
 * A title taken apart; the words of a title that says nothing are all of its words. `hasSigns`: a part without words is
 * one word, its signs.
 */
export function titlePartsOf(title: string, { hasSigns }: { readonly hasSigns: boolean }): TitleParts {
  const whole = withoutFeatured(title)
    .replace(TRACK_NUMBER, "")
    .replaceAll(/(?<=\b(?:7|12))["”″](?=\s?(?:version|mix|single|edit)\b)/gi, " inch")
    .replaceAll(FILM, " ");
  const inside: string[] = [];
  const take = (_all: string, text: string): string => {
    inside.push(text);
    return " | ";
  };
  const outside = whole.replaceAll(BRACKETS, take).replaceAll(BRACKETS, take);
  const signsOfPart = (part: string): string[] => (hasSigns ? signsIn(plainText(part)) : []);
  const segments = filled(outside.split(SEPARATORS).map((part) => [...tellingWords(part), ...signsOfPart(part)]));
  const brackets = filled(inside.map(tellingWords));
  const editions = [...outside.split(SEPARATORS), ...inside].flatMap(
    (part) => wordsIn(plainText(part)).join(" ").match(EDITION_PHRASES) ?? [],
  );
  const edition = [...new Set(editions)].sort().join(" ");
  if (segments.length + brackets.length > 0) return { segments, brackets, edition };
  const all = [...evenWords(wordsIn(plainText(title))), ...signsOfPart(title)];
  return { segments: filled([all]), brackets: [], edition };
}

function filled(parts: readonly string[][]): string[][] {
  return parts.filter((words) => words.length > 0);
}

/** The words of a title, without those that say nothing; all where nothing would be left. */
export function titleWordsOf(title: string): readonly string[] {
  const all = wordsIn(plainText(withoutFeatured(title)));
  const telling = withoutPhrases(all, [...EMPTY_PHRASES, EDITION_PHRASES]).filter((word) => !emptyWords.has(word));
  const words = [signsOf(title), ...telling].filter((word) => word !== "");
  return words.length > 0 ? words : all;
}

/** The parts of a title where a name may stand by itself, with all of their words; `isWhole`: also those in brackets. */
export function nameSegmentsOf(
  title: string,
  { isWhole }: { readonly isWhole: boolean },
): readonly (readonly string[])[] {
  const text = withoutFeatured(title).replaceAll(BRACKETS, (_all, inside: string) =>
    isWhole ? ` | ${inside} | ` : " | ",
  );
  const parts = filled(
    text
      .split(SEPARATORS)
      .flatMap((part) => part.split(/\sby\s/i))
      .map(segmentWords),
  );
  return parts.length > 1 ? parts : filled(text.split("-").map(segmentWords));
}

function segmentWords(part: string): string[] {
  return evenWords(wordsIn(plainText(part)));
}

/** The words of the artists that a title says are featured. */
export function featuredWordsOf(title: string): readonly string[] {
  const found = title.slice(0, TEXT_LENGTH_MAX).matchAll(FEATURING);
  return Array.from(found, ([, names = ""]) => names).flatMap(artistWordsOf);
}

/** The words of an artist or uploader; all where nothing would be left. */
export function artistWordsOf(author: string): readonly string[] {
  const all = evenWords(wordsIn(plainText(author))).map((word) => word.replace(/(?<=.)(?:vevo|official)$/, ""));
  const words = all.filter((word) => !emptyArtistWords.has(word));
  return words.length > 0 ? words : all;
}

/** The author, and each name where there are several; at most 20. */
export function namesOf(author: string): readonly string[] {
  const text = author.slice(0, TEXT_LENGTH_MAX);
  const names = [text, ...text.split(/[,;]/), ...text.split(/[,;&/、]| x | and | feat\.? /i)];
  return [...new Set(names)].slice(0, NAMES_MAX);
}

/** A name in one piece, with and without articles: sites write `Daft Punk` and `DaftPunkVEVO`. */
export function joinedNamesOf(name: string): readonly string[] {
  const long = wordsIn(plainText(name).replace(/ - topic$|^official /, "")).filter((word) => word !== "and");
  const short = artistWordsOf(name).filter((word) => word !== "and");
  return [short, long]
    .map((words) => words.join("").replace(/(?<=.)(?:vevo|official)$/, ""))
    .map((joined) => joined.replace(/^the(?=.{3})/, "").replace(/(?<=.{3})(?:music|channel|tv)$/, ""))
    .filter((joined) => joined !== "");
}

/** The kinds of versions that words name, once for each time. */
export function versionKindsOf(words: readonly string[]): readonly string[] {
  const text = words.join(" ");
  const named = words.flatMap((word) => kindsOfWords.get(word) ?? []);
  const within = kindsWithin.filter(([word]) => text.includes(word)).map(([, kind]) => kind);
  const all = [...named, ...[...new Set(within)].filter((kind) => !named.includes(kind))];
  // `Piano Version` is `Piano`.
  return all.some((kind) => kind !== "version") ? all.filter((kind) => kind !== "version") : all;
}

export function isVersionWord(word: string): boolean {
  return kindsOfWords.has(word);
}

/** The artist, or nothing where a site or file only says that it does not know one. */
export function knownArtist(author: string): string {
  return /^[\s<([]*(?:unknown(?:[\s_]artists?)?|n\/a)[\s>)\]]*$/i.test(author) ? "" : author;
}

/** What to search for: artist and title, once each. At most 200 characters. */
export function searchTextOf({ title, author }: { readonly title: string; readonly author: string }): string {
  const artist = artistWordsOf(knownArtist(author));
  const words = titleWordsOf(title);
  const missing = artist.filter((word) => !words.includes(word));
  const text = [...missing, ...words].join(" ").slice(0, SEARCH_LENGTH_MAX);
  return withoutHalves(text).trim();
}
