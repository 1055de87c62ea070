// @ts-check
// Parses the text of a page: its links, and the anchors that links may have as targets. Used by the site build, and by
// the tidy tests.

/**
 * @typedef {object} PageLink
 * @property {string} text the shown text
 * @property {string} target as it is written, anchor included
 * @property {boolean} isImage
 * @property {number} start where it begins in the page
 * @property {number} end behind its last character
 */

const FENCED = /^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^ *\2[`~]*[ \t]*$/gm;
const CODE_SPAN = /(?<!`)(`+)(?!`)([\s\S]*?[^`])\1(?!`)/g;
const LINK = /(!?)\[((?:[^[\]]|\[[^[\]]*\])*)\]\(([^()\s]+)(?:\s+"[^"]*")?\)/g;
const HEADING = /^#{1,6}[ \t]+(.+?)[ \t]*#*$/gm;

/**
 * The links and pictures of a page, in their order, without those in code.
 *
 * @param {string} page
 * @returns {PageLink[]}
 */
export function linksOf(page) {
  const prose = withoutFences(page).replaceAll(CODE_SPAN, blank);
  return Array.from(prose.matchAll(LINK), ({ index, 0: whole, 1: mark = "", 2: text = "", 3: target = "" }) => {
    const textStart = index + mark.length + 1;
    return {
      text: page.slice(textStart, textStart + text.length),
      target,
      isImage: mark !== "",
      start: index,
      end: index + whole.length,
    };
  });
}

/**
 * The headings of a page, each with the anchor that the site and common code hosts give it.
 *
 * @param {string} page
 * @returns {{ readonly text: string, readonly anchor: string }[]}
 */
export function headingsOf(page) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  return Array.from(withoutFences(page).matchAll(HEADING), ([, written = ""]) => {
    const text = written.replaceAll(LINK, "$2").replaceAll(/[`*]/g, "");
    const word = text
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Mark}\p{Number}\p{Connector_Punctuation} -]/gu, "")
      .replaceAll(" ", "-");
    const count = counts.get(word) ?? 0;
    counts.set(word, count + 1);
    return { text, anchor: count === 0 ? word : `${word}-${count}` };
  });
}

/**
 * The code blocks of a page.
 *
 * @param {string} page
 * @returns {{ readonly language: string, readonly code: string, readonly line: number }[]}
 */
export function codeBlocksOf(page) {
  return Array.from(page.matchAll(FENCED), ({ 0: block, 1: indent = "", index }) => {
    const [fence = "", ...lines] = block.split("\n");
    return {
      language:
        fence
          .trim()
          .replace(/^[`~]+/, "")
          .split(/\s/, 1)[0] ?? "",
      code: lines
        .slice(0, -1)
        .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line))
        .join("\n"),
      line: page.slice(0, index).split("\n").length,
    };
  });
}

/**
 * The page with its code blocks blanked out, as long as before.
 *
 * @param {string} page
 */
function withoutFences(page) {
  return page.replaceAll(FENCED, blank);
}

/** @param {string} text */
function blank(text) {
  return text.replaceAll(/[^\n]/g, " ");
}
