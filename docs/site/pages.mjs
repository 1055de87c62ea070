// @ts-check
// The pages of the site: their addresses, and the conversion of their links. Pages are written for the repository, where
// links are relative and may name any file; the site has different addresses, and not all files.

import { posix } from "node:path";
import { linksOf } from "./markdown.mjs";
import { CONFIG_EXAMPLE_PAGE, INDEX_PAGE, pagesIn, SIDE_BAR } from "./side-bar.mjs";

/** Every page of the site by its path in the repository, the start page first. */
export const PAGES = [INDEX_PAGE, ...pagesIn(SIDE_BAR)];

/** Files of the repository for which the site has a page. */
const STAND_INS = new Map([
  ["README.md", INDEX_PAGE],
  ["config.example.yml", CONFIG_EXAMPLE_PAGE],
]);

/**
 * The address of a page on the site, below its base: `/reference/rest`; undefined for a file that is not a page.
 *
 * @param {string} path in the repository
 * @returns {string | undefined}
 */
export function routeOf(path) {
  const page = STAND_INS.get(path) ?? PAGES.find((known) => known === path) ?? firstPageIn(path);
  if (page === undefined) return undefined;
  if (page === INDEX_PAGE) return "/";
  const name = page.replace(/\.md$/, "");
  if (name.startsWith("docs/")) return name.slice("docs".length);
  return `/project/${posix.basename(name.replace(/\/README$/, "")).toLowerCase()}`;
}

/** @param {string} folder */
function firstPageIn(folder) {
  return PAGES.find((page) => page.startsWith(`${folder}/`) && page !== INDEX_PAGE);
}

/**
 * A page's text with converted links: a link to another page gets its address; a link to a file that the site does not
 * have gets its address on the web where that is known, and otherwise becomes the path. Pictures stay, as they are copied
 * to the page's folder.
 *
 * @param {string} text
 * @param {object} context
 * @param {string} context.path of the page in the repository
 * @param {string} context.sourcesUrl see `sourcesUrlOf`
 * @returns {string}
 */
export function forTheSite(text, { path, sourcesUrl }) {
  let result = "";
  let done = 0;
  for (const link of linksOf(text)) {
    result += text.slice(done, link.start);
    done = link.end;
    const [target = "", anchor] = link.target.split("#", 2);
    if (link.isImage || target === "" || isElsewhere(target)) {
      result += text.slice(link.start, link.end);
      continue;
    }
    const file = posix.join(posix.dirname(path), target).replace(/\/$/, "");
    const route = routeOf(file);
    // A replacement page has other headings.
    const fragment = anchor === undefined || STAND_INS.has(file) ? "" : `#${anchor}`;
    if (route !== undefined) result += `[${link.text}](${route}${fragment})`;
    else if (sourcesUrl !== "") result += `[${link.text}](${sourcesUrl}/${file})`;
    else result += namedInstead(link.text, file);
  }
  return result + text.slice(done);
}

/**
 * The web address of the source repository, to be followed by a path in it, without a trailing slash. Empty while
 * package.json has a placeholder (RFC 2606, `.invalid`): then pages name the path instead of linking to it.
 *
 * @param {string} repositoryUrl `repository.url` of package.json: `git+https://host/path.git`
 */
export function sourcesUrlOf(repositoryUrl) {
  const address = repositoryUrl.replace(/^git\+/, "").replace(/\.git$/, "");
  return new URL(address).hostname.endsWith(".invalid") ? "" : `${address}/blob/HEAD`;
}

/**
 * Whether a target is an address, not a file of the repository.
 *
 * @param {string} target
 */
export function isElsewhere(target) {
  return /^[a-z][a-z+.-]*:/i.test(target);
}

/**
 * @param {string} text
 * @param {string} file
 */
function namedInstead(text, file) {
  return file.endsWith(text.replaceAll("`", "")) ? `\`${file}\`` : `${text} (\`${file}\`)`;
}
