// How the keys of records are written as NATS subjects. `/` separates the parts of a key, `.` those of a subject; what
// a subject cannot hold is escaped. Used by nats-bucket.ts and its parts; a leaf.

import { KEY_LENGTH_MAX } from "../state/state-store.ts";

const ESCAPE = "=";

/** The records of one cluster: their stream and its subjects, laid out as NATS lays out a key-value bucket. */
export class RecordSubjects {
  readonly stream: string;
  readonly #prefix: string;

  /** `name`: of the cluster. */
  constructor(name: string) {
    this.stream = `KV_${name}`;
    this.#prefix = `$KV.${name}.`;
  }

  /** The pattern of all subjects. */
  get all(): string {
    return `${this.#prefix}>`;
  }

  /** Throws for what cannot be a key. */
  ofKey(key: string): string {
    return this.#subjectOf(key, escapePart);
  }

  /** Of a key, or of a pattern with `*` for one part and a final `>` for one or more. */
  ofPattern(pattern: string): string {
    return this.#subjectOf(pattern, (part) => (part === "*" || part === ">" ? part : escapePart(part)));
  }

  keyOf(subject: string): string {
    const parts = subject.slice(this.#prefix.length).split(".");
    return parts.map(unescapePart).join("/");
  }

  #subjectOf(text: string, subjectPart: (part: string) => string): string {
    const parts = text.split("/");
    if (text.length > KEY_LENGTH_MAX || parts.includes("")) throw new TypeError(`not a key of a record: ${text}`);
    return this.#prefix + parts.map(subjectPart).join(".");
  }
}

/** The subjects without those that another one of them contains: a server refuses filters that overlap. */
export function withoutContained(subjects: readonly string[]): readonly string[] {
  const unique = [...new Set(subjects)];
  return unique.filter((subject) => !unique.some((other) => other !== subject && contains(other, subject)));
}

/** Whether everything that matches `subject`, which may be a pattern, matches the pattern. */
export function contains(pattern: string, subject: string): boolean {
  const wide = pattern.split(".");
  const narrow = subject.split(".");
  for (const [index, part] of wide.entries()) {
    const other = narrow[index];
    if (other === undefined) return false;
    if (part === ">") return true;
    if (part !== other && (part !== "*" || other === ">")) return false;
  }
  return wide.length === narrow.length;
}

function escapePart(part: string): string {
  return part.replaceAll(/[^A-Za-z0-9_-]/g, (character) => {
    const code = character.charCodeAt(0);
    if (code > 0xff) throw new TypeError("not a key of a record: it has characters outside of ASCII");
    return ESCAPE + code.toString(16).padStart(2, "0");
  });
}

function unescapePart(part: string): string {
  return part.replaceAll(/=([0-9a-f]{2})/g, (_all, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
