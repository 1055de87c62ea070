// Dark or light: as the system says, or as was chosen here, which the browser keeps. In the browser.

const KEY = "tonearm-theme";

/** In the order of the menu. */
export const THEMES = [
  { theme: "system", name: "As the system" },
  { theme: "light", name: "Light" },
  { theme: "dark", name: "Dark" },
] as const;

/** One of these. */
export type Theme = (typeof THEMES)[number]["theme"];

/** The theme chosen last; the system's theme if none is stored. */
export function persistedTheme(): Theme {
  try {
    const persisted = localStorage.getItem(KEY);
    return THEMES.find(({ theme }) => theme === persisted)?.theme ?? "system";
  } catch {
    // A browser that keeps nothing for us.
    return "system";
  }
}

/** Applies the theme to the page and stores it. */
export function chooseTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Until the next load, then.
  }
}
