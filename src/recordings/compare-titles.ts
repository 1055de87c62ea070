// How much of two titles is the same, without artists and what says nothing. Any thread; used by same-recording.ts.

import { isVersionWord, signsOf, type TitleParts, titlePartsOf, versionKindsOf, wordSet } from "./recording-words.ts";

export interface TitleMatch {
  /** 0 to 1; 0: another song, or another version of it. */
  readonly score: number;
  /** For people; empty where the score is 0. */
  readonly reason: string;
  /** One names its cut (`Radio Edit`), and the other does not or names another. */
  readonly isOtherEdition: boolean;
}

type Words = readonly string[];

interface Title {
  /** The words outside of brackets, part by part, and all of them. */
  readonly segments: readonly Words[];
  readonly outside: Words;
  readonly brackets: readonly Words[];
  readonly all: Words;
  readonly edition: string;
  /** The kinds of version that it names. */
  readonly marks: string;
}

/** The share of the words of the longer title that both titles have. */
const TITLE_SHARE_MIN = 0.75;
/** A year of a release says nothing about the recording. */
const YEAR = /^(?:19|20)\d\d$/;
const NUMBER = /^\d+(?:st|nd|rd|th)?$/;
const IDLE_WORDS = wordSet("by from and");
const NO_MATCH = { score: 0, reason: "", isOtherEdition: false };

/** `names`: the words of each name of both artists, which may stand in a title. */
export function compareTitles(a: string, b: string, names: readonly Words[]): TitleMatch {
  const hasSigns = [a, b].some((title) => signsOf(title) !== "");
  const [partsOfA, partsOfB] = [titlePartsOf(a, { hasSigns }), titlePartsOf(b, { hasSigns })];
  const [ofA, ofB] = [withoutNames(partsOfA, partsOfB, names), withoutNames(partsOfB, partsOfA, names)];
  const [one, other] = [withoutTranslation(ofA, ofB), withoutTranslation(ofB, ofA)];
  if (one.marks !== other.marks) return NO_MATCH;
  const odd = [...oddWords(one.all, other.all), ...oddWords(other.all, one.all)];
  if (hasSigns && odd.length > 0) return NO_MATCH;
  if (odd.some((word) => NUMBER.test(word) && !YEAR.test(word))) return NO_MATCH;
  const isOtherEdition = one.edition !== other.edition;
  return { ...compareWords(one, other), isOtherEdition };
}

function compareWords(one: Title, other: Title): { readonly score: number; readonly reason: string } {
  const [ofOne, ofOther] = [oddWords(one.all, other.all), oddWords(other.all, one.all)];
  if (ofOne.length + ofOther.length === 0) return { score: 1, reason: "same title" };
  const added = [ofOne, ofOther].map((words) => words.filter((word) => !YEAR.test(word)));
  const isOneSided = added.some((words) => words.length === 0);
  if (!isOneSided && one.marks !== "") return NO_MATCH;
  if (isOneSided && haveSameCore(one, other)) {
    const isAside = added.flat().every((word) => scriptOf(word) !== scriptOf(one.all[0] ?? ""));
    return { score: isAside ? 0.9 : one.marks === "" ? 0.7 : 0.8, reason: "same title beside what is added to it" };
  }
  if (isOneSided && (isTranslation(one, other) || isTranslation(other, one))) {
    return { score: 0.85, reason: "same title in one of two languages" };
  }
  if (shareOf(one.all, other.all) >= TITLE_SHARE_MIN) return { score: 0.6, reason: "similar title" };
  return NO_MATCH;
}

function oddWords(words: Words, others: Words): Words {
  return words.filter((word) => !others.includes(word));
}

/** Drops the names of artists, as far as they are no part of the other title. */
function withoutNames(parts: TitleParts, others: TitleParts, names: readonly Words[]): Title {
  const nameWords = new Set(names.flat().filter((word) => !isVersionWord(word)));
  const cut = (words: Words) => withoutRuns(words, names);
  const [outer, inner] = [filled(parts.segments.map(cut)), filled(parts.brackets.map(cut))];
  const marks = marksOf(outer.flat(), inner.flat());
  // `Piano Version` is `Piano`.
  const isIdle = (word: string) =>
    IDLE_WORDS.has(word) || (marks !== "version" && versionKindsOf([word])[0] === "version");
  const otherWords = new Set([...others.segments, ...others.brackets].flat());
  const isStrict = ![[...outer, ...inner], [...others.segments, ...others.brackets].map(cut)].some((left) =>
    left.flat().every((word) => nameWords.has(word)),
  );
  // A title of the artist's own name is left as it is.
  const isKept = (word: string) => !isIdle(word) && (!nameWords.has(word) || (!isStrict && otherWords.has(word)));
  const whole = outer.length + inner.length > 0 ? [outer, inner] : [parts.segments, parts.brackets];
  const rest = whole.map((list) => filled(list.map((words) => words.filter(isKept))));
  const [segments = [], brackets = []] = rest.flat().length > 0 ? rest : whole;
  const outside = segments.flat();
  return { segments, brackets, outside, all: [...outside, ...brackets.flat()], edition: parts.edition, marks };
}

/** Drops brackets in another script than that of the title, where the other title has none of their words. */
function withoutTranslation(title: Title, other: Title): Title {
  const script = scriptOf(title.outside[0] ?? "");
  const isTranslation = (words: Words) =>
    title.outside.length > 0 &&
    words.every((word) => !other.all.includes(word) && !NUMBER.test(word) && scriptOf(word) !== script) &&
    versionKindsOf(words).length === 0;
  const brackets = title.brackets.filter((words) => !isTranslation(words));
  return { ...title, brackets, all: [...title.outside, ...brackets.flat()] };
}

function filled(parts: readonly Words[]): Words[] {
  return parts.filter((words) => words.length > 0);
}

/** Drops names that stand in one piece: one may be `Live`. */
function withoutRuns(words: Words, names: readonly Words[]): Words {
  const text = names.reduce((rest, name) => rest.replaceAll(` ${name.join(" ")} `, "  "), ` ${words.join(" ")} `);
  return text.split(" ").filter((word) => word !== "");
}

/** What a title says of the version, in one order: each word outside of brackets, and each kind inside once. */
function marksOf(outside: Words, inside: Words): string {
  const kinds = [...versionKindsOf(outside), ...new Set(versionKindsOf(inside))];
  const isMoreThanVersion = kinds.some((kind) => kind !== "version");
  return kinds
    .filter((kind) => kind !== "version" || !isMoreThanVersion)
    .sort()
    .join(" ");
}

/** The first part of one is a whole part of the other, or they are equal without brackets. */
function haveSameCore(one: Title, other: Title): boolean {
  const isPartOf = ([core]: readonly Words[], parts: readonly Words[]) =>
    core !== undefined && parts.some((part) => shareOf(core, part) === 1);
  if (one.outside.length > 0 && shareOf(one.outside, other.outside) === 1) return true;
  return isPartOf(one.segments, other.segments) || isPartOf(other.segments, one.segments);
}

/** The whole of one title stands in brackets in the other, whose own words are in another script. */
function isTranslation(one: Title, other: Title): boolean {
  const isIn = other.brackets.some((words) => shareOf(words, one.all) === 1);
  return isIn && scriptOf(one.all[0] ?? "") !== scriptOf(other.outside[0] ?? "");
}

function scriptOf(word: string): "latin" | "other" {
  return /^[\p{sc=Latin}\p{N}]/u.test(word) ? "latin" : "other";
}

function shareOf(words: Words, others: Words): number {
  const [one, other] = [new Set(words), new Set(others)];
  const both = [...one].filter((word) => other.has(word));
  return both.length / Math.max(one.size, other.size, 1);
}
