// Reads a YAML file into a flat list of settings with line and column. Values stay texts ("failsafe"): the keys parse
// them, as they do for environment variables. Main thread, at start.

import {
  type Alias,
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type YAMLMap,
  type YAMLParseError,
  type YAMLSeq,
} from "yaml";
import { resolvePlaceholders, type Variables } from "./placeholders.ts";
import type { ConfigProblem, WrittenSetting } from "./written-setting.ts";
import { FileTooLarge, parseDocuments, resolveAliases } from "./yaml-documents.ts";

/** A configuration does not have more than this. */
const SETTINGS_MAX = 2000;
/** Limit of visited values, counting those behind an alias each time: nested aliases can grow exponentially. */
const NODES_MAX = 50_000;
const DEPTH_MAX = 32;
/** No key has a longer name; it would have to be shown, and compared with all known ones. */
const NAME_LENGTH_MAX = 200;

interface FileReading {
  readonly settings: readonly WrittenSetting[];
  readonly problems: readonly ConfigProblem[];
}

/** Reads the text of a file; later documents (`---`) override earlier ones. `fileName` is for messages. */
export function readConfigFile(text: string, options: { fileName: string; variables: Variables }): FileReading {
  const lineCounter = new LineCounter();
  const walk = new FileWalk(lineCounter, options);
  try {
    for (const document of parseDocuments(text, lineCounter)) {
      for (const error of document.errors) walk.problem(error.pos[0], mistakeIn(error));
      if (document.errors.length === 0) walk.document(document);
    }
  } catch (error) {
    if (!(error instanceof FileTooLarge)) throw error;
    walk.problem(error.offset, `${error.message}; a configuration needs less`);
  }
  return { settings: walk.settings, problems: walk.problems };
}

class FileWalk {
  readonly settings: WrittenSetting[] = [];
  readonly problems: ConfigProblem[] = [];
  readonly #lineCounter: LineCounter;
  readonly #options: { fileName: string; variables: Variables };
  #targets: ReadonlyMap<Alias, Node> = new Map();
  /** Aliases whose targets contain the current node, the outermost first. */
  readonly #open: Alias[] = [];
  #nodeCount = 0;

  constructor(lineCounter: LineCounter, options: { fileName: string; variables: Variables }) {
    this.#lineCounter = lineCounter;
    this.#options = options;
  }

  document(document: Document.Parsed): void {
    const { contents } = document;
    this.#targets = resolveAliases(document);
    if (isMap(contents)) this.#map(contents as YAMLMap, []);
    else if (contents !== null && !isEmptyScalar(contents))
      this.problem(offsetOf(contents), "expected keys and values");
  }

  problem(offset: number, message: string): void {
    this.problems.push({ location: this.#locationAt(offset), message });
  }

  #map(map: YAMLMap, names: readonly string[]): void {
    const isMerge = (pair: (typeof map.items)[number]): boolean => isScalar(pair.key) && pair.key.value === "<<";
    // Merged keys first, so that the map's own come later and win.
    for (const pair of map.items.filter(isMerge)) this.#merge(pair.value as Node | null, names);
    for (const pair of map.items) {
      if (!isPair(pair) || isMerge(pair)) continue;
      const key: unknown = isScalar(pair.key) ? pair.key.value : undefined;
      if (typeof key !== "string" || key.length > NAME_LENGTH_MAX) {
        this.problem(offsetOf(pair.key as Node), `expected a name of at most ${NAME_LENGTH_MAX} characters`);
        continue;
      }
      this.#node(pair.value as Node | null, [...names, ...pathNames(key)]);
    }
  }

  /** Adds the keys of a map, or of several in a list, as if they were written here. */
  #merge(node: Node | null, names: readonly string[]): void {
    this.#count(node, names);
    if (isAlias(node)) this.#within(node, (target) => this.#merge(target, names));
    else if (isSeq(node)) for (const item of node.items) this.#merge(item as Node | null, names);
    else this.#node(node, names);
  }

  #node(node: Node | null, names: readonly string[]): void {
    this.#count(node, names);
    if (isAlias(node)) this.#within(node, (target) => this.#node(target, names));
    else if (isMap(node)) this.#map(node as YAMLMap, names);
    else if (isSeq(node)) this.#list(node as YAMLSeq, names);
    else if (isScalar(node) && !isEmptyScalar(node)) this.#setting(names, String(node.value), offsetOf(node));
  }

  #list(list: YAMLSeq, names: readonly string[]): void {
    if (list.items.length === 0) this.#setting(names, "", offsetOf(list));
    for (const [index, item] of list.items.entries()) this.#node(item as Node | null, [...names, String(index)]);
  }

  /** Continues the walk in the target of an alias; an alias within its own target would never end. */
  #within(alias: Alias, walk: (target: Node) => void): void {
    const target = this.#targets.get(alias);
    if (target === undefined) {
      this.problem(
        offsetOf(alias),
        "there is no such anchor before this alias; a text that begins with * needs quotes",
      );
      return;
    }
    if (isInside(alias, target)) {
      this.problem(offsetOf(alias), "this alias is within its own target, so the value would have no end");
      return;
    }
    this.#open.push(alias);
    walk(target);
    this.#open.pop();
  }

  #count(node: Node | null, names: readonly string[]): void {
    const isTooMuch = ++this.#nodeCount > NODES_MAX || this.settings.length >= SETTINGS_MAX;
    if (!isTooMuch && names.length <= DEPTH_MAX) return;
    // The alias is reported as the location of the mistake, because its target is valid by itself.
    const at = this.#open[0] ?? node;
    throw new FileTooLarge(at === null ? 0 : offsetOf(at), "the settings are too deep or too much");
  }

  #setting(names: readonly string[], text: string, offset: number): void {
    const { text: resolved, missing } = resolvePlaceholders(text, this.#options.variables);
    const location = this.#locationAt(offset);
    if (missing === undefined) this.settings.push({ names, text: resolved, location });
    else this.settings.push({ names, text, missingVariable: missing, location });
  }

  #locationAt(offset: number): string {
    const { line, col } = this.#lineCounter.linePos(offset);
    return `${this.#options.fileName}:${line}:${col}`;
  }
}

/** `a.b[0].c` is the same as nested keys, as in Spring. */
export function pathNames(path: string): string[] {
  return path.split(/[.[\]]+/).filter((name) => name !== "");
}

/** A key without a value counts as not set. */
function isEmptyScalar(node: unknown): boolean {
  return isScalar(node) && node.type === "PLAIN" && ["", "~", "null"].includes(String(node.value ?? ""));
}

function isInside(alias: Alias, target: Node): boolean {
  const [start, , end] = target.range ?? [0, 0, 0];
  const offset = offsetOf(alias);
  return start <= offset && offset < end;
}

function offsetOf(node: Node): number {
  return node.range?.[0] ?? 0;
}

/** Their messages end in a piece of the file, which may be a password. */
const QUOTING_ERRORS = new Set<ErrorCode>(["BAD_DIRECTIVE", "BAD_DQ_ESCAPE", "TAG_RESOLVE_FAILED", "UNEXPECTED_TOKEN"]);

function mistakeIn({ code, message }: YAMLParseError): string {
  const [sentence = ""] = message.split("\n", 1);
  if (code === "TAG_RESOLVE_FAILED") return "Unresolved tag; a text that begins with ! needs quotes";
  return QUOTING_ERRORS.has(code) ? sentence.replace(/(?:: | sequence ).*$/, "") : sentence;
}
