// Parses the text of a YAML file into documents of nodes, and maps each alias to its target. Limits are checked before
// anything is built: a file whose size, number of tokens or nesting no configuration needs would block the start for
// hours, or crash the node without a message. Main thread, at start.

import { type Alias, Composer, type Document, Lexer, type LineCounter, type Node, Parser, visit } from "yaml";

/** Some sixty times the example that shows every key. */
export const FILE_SIZE_MAX_BYTES = 1024 * 1024;
/** Names, values, breaks and signs; the parser compares every key of a map with all the others. */
const LEXEMES_MAX = 30_000;
/** The parser descends by calling itself. More than any setting needs. */
const NESTING_MAX = 64;

/** A file that is refused as a whole; `offset` is where it went too far. */
export class FileTooLarge extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/**
 * Parses every document of a file; values stay texts. Mistakes of spelling are in `errors` of each.
 * @throws FileTooLarge
 */
export function parseDocuments(text: string, lineCounter: LineCounter): Document.Parsed[] {
  if (text.length > FILE_SIZE_MAX_BYTES) {
    for (let end = 0; end < FILE_SIZE_MAX_BYTES; end = endOfLine(text, end)) lineCounter.addNewLine(end);
    throw new FileTooLarge(FILE_SIZE_MAX_BYTES, `the file is longer than ${FILE_SIZE_MAX_BYTES} bytes`);
  }
  const composer = new Composer({ schema: "failsafe", lineCounter, prettyErrors: false });
  return [...composer.compose(boundedTokens(text, lineCounter))];
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end + 1;
}

function* boundedTokens(text: string, lineCounter: LineCounter): ReturnType<Parser["parse"]> {
  const parser = new Parser(lineCounter.addNewLine);
  lineCounter.addNewLine(0);
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    if (++count > LEXEMES_MAX) throw new FileTooLarge(parser.offset, "the file has too many keys, values and lines");
    if (parser.stack.length > NESTING_MAX) throw new FileTooLarge(parser.offset, "the file is nested too deeply");
  }
  yield* parser.end();
}

/** The target of each alias: the last node before it with its anchor. One walk for all of them. */
export function resolveAliases(document: Document.Parsed): ReadonlyMap<Alias, Node> {
  const anchored = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  visit(document, {
    Alias: (_key, alias) => {
      const target = anchored.get(alias.source);
      if (target !== undefined) targets.set(alias, target);
    },
    Value: (_key, node) => {
      if (node.anchor !== undefined) anchored.set(node.anchor, node);
    },
  });
  return targets;
}
