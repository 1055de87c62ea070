// The names of a feed's elements, whatever prefixes it binds its namespaces to: `a:title` of Atom is `title`,
// `it:duration` of iTunes is `itunes:duration`. Feeds use prefixes without binding them, or bind them to other
// namespaces than they mean: then the name counts as it is written. Plugin thread.

/**
 * The prefix used here for a namespace; empty for elements that are a feed's own in any root. Namespaces compare
 * without scheme, case and closing slash.
 */
const PREFIXES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "purl.org/rss/1.0": "",
    "my.netscape.com/rdf/simple/0.9": "",
    "www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "search.yahoo.com/mrss": "media",
    "purl.org/dc/elements/1.1": "dc",
    "purl.oclc.org/net/rss_2.0/enc#": "enc",
  }),
);
/** Elements that feeds begin with, without prefix. */
const ROOTS = new Set(["rss", "rdf", "feed"]);
/** Real feeds bind some ten. */
const BINDINGS_MAX = 64;
/** The prefix of elements without one. */
const NONE = "";

/** Namespaces by prefix, at one place in the feed. */
type Bindings = ReadonlyMap<string, string>;

const UNBOUND: Bindings = new Map();

export class FeedNames {
  /** For each element that is open. */
  readonly #bindings: Bindings[] = [];
  #rootPrefix = NONE;
  /** The namespace of the root element; undefined: it has none. */
  #rootNamespace: string | undefined;

  /** The name of an element that begins. `written` and the names of `attributes` are in lower case. */
  open(written: string, attributes: Readonly<Record<string, unknown>>): string {
    const bindings = boundBy(attributes, this.#bindings.at(-1) ?? UNBOUND);
    const isRoot = this.#bindings.push(bindings) === 1;
    const [prefix, name] = partsOf(written);
    const namespace = bindings.get(prefix);
    if (isRoot && ROOTS.has(name)) {
      this.#rootPrefix = prefix;
      this.#rootNamespace = namespace;
      return name;
    }
    if (prefix === this.#rootPrefix && namespace === this.#rootNamespace) return name;
    const known = PREFIXES.get(namespace ?? NONE);
    if (known !== undefined) return known === NONE ? name : `${known}:${name}`;
    const isOfRoot = namespace !== undefined && namespace === this.#rootNamespace;
    return prefix === NONE || isOfRoot ? name : written;
  }

  /** The element that began last ends. */
  close(): void {
    this.#bindings.pop();
  }
}

function boundBy(attributes: Readonly<Record<string, unknown>>, outer: Bindings): Bindings {
  const own = Object.entries(attributes).filter(([name]) => name === "xmlns" || name.startsWith("xmlns:"));
  if (own.length === 0) return outer;
  const bindings = new Map(outer);
  for (const [name, value] of own) {
    if (bindings.size < BINDINGS_MAX) bindings.set(name.slice("xmlns:".length), namespaceOf(String(value)));
  }
  return bindings;
}

function namespaceOf(text: string): string {
  return text
    .slice(0, 200)
    .trim()
    .toLowerCase()
    .replace(/^https?:\/\//, "")
    .replace(/\/$/, "");
}

function partsOf(written: string): readonly [prefix: string, name: string] {
  const colon = written.indexOf(":");
  return colon < 0 ? [NONE, written] : [written.slice(0, colon), written.slice(colon + 1)];
}
