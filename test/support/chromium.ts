// Debian's Chromium, driven by playwright-core, for the tests of pages: its path, starting it, and axe's findings on a
// page. playwright-core ships no browser and downloads none.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, chromium, type Page } from "playwright-core";

const CANDIDATES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** How a page is displayed: `phone` is 390 pixels wide and has touch. */
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

/** A finding of axe, one line per rule. */
interface AxeFinding {
  readonly impact: string;
  readonly rule: string;
  /** The first of the elements, and its problem. */
  readonly where: string;
}

/** `CHROMIUM`, or the path on Debian and its derivatives. @throws when it is not installed, with what to install */
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
    // Its sandbox needs user namespaces or root's helper; containers have neither. It displays our own pages only.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
}

/** A page in a new context that reaches nothing but `origin`: other requests fail, and are noted in `strays`. */
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

/** The findings that axe rates serious or critical on a page in its current state. */
export async function seriousFindings(page: Page): Promise<AxeFinding[]> {
  // Not by a tag: a page's own policy may forbid scripts of others.
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    // Set by the script above.
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
