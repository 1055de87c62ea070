// Compares an answer with a pattern and reports the first difference: the expected and the received value. A pattern is
// a literal, a Matcher, a list, or an object whose members must fit (others are allowed).

/** Thrown by a check that found a wrong answer. */
export class Mismatch extends Error {
  readonly expected: string;
  readonly actual: string;

  constructor(expected: string, actual: string) {
    super(`expected ${expected}, got ${actual}`);
    this.expected = expected;
    this.actual = actual;
  }
}

/** A rule for one value. */
class Matcher {
  readonly text: string;
  readonly fits: (value: unknown) => boolean;

  constructor(text: string, fits: (value: unknown) => boolean) {
    this.text = text;
    this.fits = fits;
  }
}

export const anInteger = new Matcher("an integer", Number.isInteger);
export const aNumber = new Matcher("a number", (value) => typeof value === "number");
export const aString = new Matcher("a string", (value) => typeof value === "string");
export const someText = new Matcher(
  "a string with something in it",
  (value) => typeof value === "string" && value !== "",
);
export const aBoolean = new Matcher("true or false", (value) => typeof value === "boolean");
export const anObject = new Matcher(
  "an object",
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
);

export function where(text: string, fits: (value: unknown) => boolean): Matcher {
  return new Matcher(text, fits);
}

export function atLeast(minimum: number): Matcher {
  return where(`at least ${minimum}`, (value) => typeof value === "number" && value >= minimum);
}

export function oneOf(...patterns: readonly unknown[]): Matcher {
  return where(patterns.map(describe).join(" or "), (value) =>
    patterns.some((pattern) => firstDifference(value, pattern, "") === undefined),
  );
}

export function matching(expression: RegExp): Matcher {
  return where(`text like ${expression}`, (value) => typeof value === "string" && expression.test(value));
}

export function listOf(pattern: unknown): Matcher {
  return where(`a list of ${describe(pattern)}`, (value) =>
    Array.isArray(value) ? value.every((item) => firstDifference(item, pattern, "") === undefined) : false,
  );
}

/** These members and no others. */
class Exactly {
  readonly members: Readonly<Record<string, unknown>>;

  constructor(members: Readonly<Record<string, unknown>>) {
    this.members = members;
  }
}

export function exactly(members: Readonly<Record<string, unknown>>): Exactly {
  return new Exactly(members);
}

/** Throws a Mismatch that names the path of the first difference. */
export function expectMatch(actual: unknown, pattern: unknown, what = "answer"): void {
  const difference = firstDifference(actual, pattern, what);
  if (difference !== undefined) throw difference;
}

function firstDifference(actual: unknown, pattern: unknown, location: string): Mismatch | undefined {
  if (pattern instanceof Matcher) return pattern.fits(actual) ? undefined : mismatch(actual, pattern, location);
  if (pattern instanceof Exactly) return membersDiffer(actual, pattern, location);
  if (Array.isArray(pattern)) {
    if (!Array.isArray(actual) || actual.length !== pattern.length) return mismatch(actual, pattern, location);
    return first(pattern.map((item, index) => firstDifference(actual[index], item, `${location}[${index}]`)));
  }
  if (typeof pattern === "object" && pattern !== null) {
    if (!anObject.fits(actual)) return mismatch(actual, pattern, location);
    const members = actual as Readonly<Record<string, unknown>>; // just checked
    return first(
      Object.entries(pattern).map(([key, item]) => firstDifference(members[key], item, `${location}.${key}`)),
    );
  }
  return Object.is(actual, pattern) ? undefined : mismatch(actual, pattern, location);
}

function membersDiffer(actual: unknown, { members }: Exactly, location: string): Mismatch | undefined {
  const keys = Object.keys(members).sort().join(", ");
  if (!anObject.fits(actual)) return mismatch(actual, members, location);
  const actualKeys = Object.keys(actual as object)
    .sort()
    .join(", "); // just checked
  if (keys !== actualKeys) return new Mismatch(`${location} with members ${keys}`, `members ${actualKeys}`);
  return firstDifference(actual, members, location);
}

function first(differences: readonly (Mismatch | undefined)[]): Mismatch | undefined {
  return differences.find((difference) => difference !== undefined);
}

function mismatch(actual: unknown, pattern: unknown, location: string): Mismatch {
  return new Mismatch(`${location} ${describe(pattern)}`, describe(actual));
}

function describe(value: unknown): string {
  if (value instanceof Matcher) return value.text;
  if (value instanceof Exactly) return describe(value.members);
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return `[${value.map(describe).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, member]) => `${key}: ${describe(member)}`)
    .join(", ")}}`;
}
