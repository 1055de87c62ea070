// Debian's Chromium, driven by playwright-core, for the tests that look at pages: where it is, starting it, and what
// axe finds on a page. playwright-core brings no browser of its own and downloads none.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, chromium, type Page } from "playwright-core";

const CANDIDATES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** How a page is looked at: `phone` is 390 pixels wide and has touch. */
export interface Appearance {
  readonly scheme: "light" | "dark";
  readonly width: "desktop" | "phone";
}

export const APPEARANCES: readonly Appearance[] = [
  { scheme: "light", width: "desktop" },
  { scheme: "dark", width: "desktop" },
  { scheme: "light", width: "phone" },
  { scheme: "dark", width: "phone" },
];

/** What axe has found, one line for each rule. */
interface AxeFinding {
  readonly impact: string;
  readonly rule: string;
  /** The first of the elements, and what is wrong with it. */
  readonly where: string;
}

/** `CHROMIUM`, or where Debian and its like have it. @throws when there is none, with what to install */
function chromiumPath(): string {
  const path = [process.env.CHROMIUM ?? "", ...CANDIDATES].find(
    (candidate) => candidate !== "" && existsSync(candidate),
  );
  if (path === undefined) throw new Error("there is no Chromium: `apt-get install chromium`, or set CHROMIUM to one");
  return path;
}

/** A browser without a window. Close it. */
export async function startChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath(),
    // Its sandbox needs user namespaces or root's helper; containers have neither. It is shown our own pages only.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
}

/** A page in a context of its own, that reaches nothing but `origin`: other requests fail, and are noted in `strays`. */
export async function openPage(
  browser: Browser,
  origin: string,
  { scheme, width }: Appearance,
): Promise<{ readonly page: Page; readonly strays: readonly string[] }> {
  const isPhone = width === "phone";
  const context = await browser.newContext({
    colorScheme: scheme,
    viewport: isPhone ? { width: 390, height: 844 } : { width: 1366, height: 900 },
    hasTouch: isPhone,
    reducedMotion: "reduce",
  });
  const strays: string[] = [];
  await context.route(
    (url) => url.origin !== origin,
    (route) => {
      strays.push(route.request().url());
      return route.abort();
    },
  );
  return { page: await context.newPage(), strays };
}

/** What axe finds serious or critical on a page as it is now. */
export async function seriousFindings(page: Page): Promise<AxeFinding[]> {
  // Not by a tag: a page's own policy may forbid scripts of others.
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    // What the script above has put there.
    const { axe } = globalThis as unknown as { readonly axe: { run(options: object): Promise<AxeResults> } };
    interface AxeResults {
      readonly violations: readonly {
        readonly id: string;
        readonly impact: string;
        readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
      }[];
    }
    const { violations } = await axe.run({ resultTypes: ["violations"] });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, impact, nodes: [first] }) => ({
        impact,
        rule: id,
        where: `${first?.target.join(" ")}: ${first?.failureSummary.replaceAll(/\s+/g, " ")}`,
      }));
  });
}
