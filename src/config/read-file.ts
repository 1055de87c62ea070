// A YAML file to a flat list of settings with line and column. Values stay texts ("failsafe"): what they mean is the
// key's business, as it is for environment variables. Main thread, at start.

import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { resolvePlaceholders, type Variables } from "./placeholders.ts";
import type { ConfigProblem, WrittenSetting } from "./written-setting.ts";

/** More than this is no configuration: anchors that refer to anchors can grow without end. */
const SETTINGS_MAX = 2000;
const DEPTH_MAX = 32;

export interface FileReading {
  readonly settings: readonly WrittenSetting[];
  readonly problems: readonly ConfigProblem[];
}

/** Reads the text of a file; later documents (`---`) override earlier ones. `fileName` is for messages. */
export function readConfigFile(text: string, options: { fileName: string; variables: Variables }): FileReading {
  const lineCounter = new LineCounter();
  const walk = new FileWalk(lineCounter, options);
  const documents = parseAllDocuments(text, { schema: "failsafe", lineCounter, prettyErrors: false });
  for (const document of Array.isArray(documents) ? documents : []) {
    for (const error of document.errors) walk.problem(error.pos[0], firstLine(error.message));
    if (document.errors.length === 0) walk.document(document);
  }
  return { settings: walk.settings, problems: walk.problems };
}

class FileWalk {
  readonly settings: WrittenSetting[] = [];
  readonly problems: ConfigProblem[] = [];
  readonly #lineCounter: LineCounter;
  readonly #options: { fileName: string; variables: Variables };

  constructor(lineCounter: LineCounter, options: { fileName: string; variables: Variables }) {
    this.#lineCounter = lineCounter;
    this.#options = options;
  }

  document(document: Document.Parsed): void {
    const { contents } = document;
    if (isMap(contents)) this.#map(contents as YAMLMap, document, []);
    else if (contents !== null && !isEmptyScalar(contents))
      this.problem(offsetOf(contents), "expected keys and values");
  }

  problem(offset: number, message: string): void {
    this.problems.push({ place: this.#placeAt(offset), message });
  }

  #map(map: YAMLMap, document: Document.Parsed, names: readonly string[]): void {
    const isMerge = (pair: (typeof map.items)[number]): boolean => isScalar(pair.key) && pair.key.value === "<<";
    // Merged keys first, so that the map's own come later and win.
    for (const pair of map.items.filter(isMerge)) this.#merge(pair.value as Node | null, document, names);
    for (const pair of map.items) {
      if (!isPair(pair) || isMerge(pair)) continue;
      const key: unknown = isScalar(pair.key) ? pair.key.value : undefined;
      if (typeof key !== "string") {
        this.problem(offsetOf(pair.key as Node), "expected a name");
        continue;
      }
      this.#node(pair.value as Node | null, document, [...names, ...pathNames(key)]);
    }
  }

  #merge(node: Node | null, document: Document.Parsed, names: readonly string[]): void {
    const target = isAlias(node) ? node.resolve(document) : node;
    if (isSeq(target)) for (const item of target.items) this.#merge(item as Node, document, names);
    else this.#node(target ?? null, document, names);
  }

  #node(node: Node | null, document: Document.Parsed, names: readonly string[]): void {
    if (names.length > DEPTH_MAX || this.settings.length >= SETTINGS_MAX) {
      if (this.problems.length === 0) this.problem(node === null ? 0 : offsetOf(node), "too deep or too much");
      return;
    }
    if (isAlias(node)) this.#node(node.resolve(document) ?? null, document, names);
    else if (isMap(node)) this.#map(node as YAMLMap, document, names);
    else if (isSeq(node)) this.#list(node as YAMLSeq, document, names);
    else if (isScalar(node) && !isEmptyScalar(node)) this.#setting(names, String(node.value), offsetOf(node));
  }

  #list(list: YAMLSeq, document: Document.Parsed, names: readonly string[]): void {
    if (list.items.length === 0) this.#setting(names, "", offsetOf(list));
    for (const [index, item] of list.items.entries()) this.#node(item as Node, document, [...names, String(index)]);
  }

  #setting(names: readonly string[], text: string, offset: number): void {
    const resolved = resolvePlaceholders(text, this.#options.variables);
    if (resolved.missing !== undefined) {
      const { missing } = resolved;
      this.problem(
        offset,
        `${names.join(".")}: the environment variable ${missing} is not set; set it, or write \${${missing}:default}`,
      );
      return;
    }
    this.settings.push({ names, text: resolved.text, place: this.#placeAt(offset) });
  }

  #placeAt(offset: number): string {
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

function offsetOf(node: Node): number {
  return node.range?.[0] ?? 0;
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? text;
}
