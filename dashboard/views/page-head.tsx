// The head of the page: which node, the state of its connection, theme, who is logged in. In the browser.

import { useState } from "preact/hooks";
import { chooseTheme, persistedTheme, THEMES, type Theme } from "../live/theme-choice.ts";
import type { PageState } from "../state/page-state.ts";
import { Badge, type Mood } from "./pieces.tsx";

const CONNECTION_WORDS: Readonly<Record<PageState["connection"]["kind"], readonly [Mood, string]>> = {
  checking: ["plain", "asking"],
  loggedOut: ["plain", "logged out"],
  connecting: ["plain", "connecting"],
  live: ["good", "live"],
  asleep: ["plain", "asleep"],
  lost: ["bad", "connection lost"],
  refused: ["bad", "not let in"],
};

/** Above all pages. */
export function PageHead({ state, logOut }: { readonly state: PageState; readonly logOut: () => void }) {
  const { connection, latest, role, version } = state;
  const [mood, words] = CONNECTION_WORDS[connection.kind];
  return (
    <header>
      <img src="/dashboard/icon.svg" alt="" width="24" height="24" />
      <span class="name">Tonearm</span>
      {version !== null && <span class="quiet">{version}</span>}
      <Badge mood={mood}>{words}</Badge>
      {latest?.isDraining && <Badge mood="warn">draining</Badge>}
      {latest !== null && !latest.load.hasCapacity && <Badge mood="warn">no capacity</Badge>}
      <span class="gap" />
      <span class="quiet">{role}</span>
      <ThemeChoice />
      <button type="button" onClick={logOut}>
        Log out
      </button>
    </header>
  );
}

function ThemeChoice() {
  const [theme, setTheme] = useState<Theme>(persistedTheme);
  const choose = (name: string) => {
    const chosen = THEMES.find((one) => one.theme === name)?.theme ?? "system";
    chooseTheme(chosen);
    setTheme(chosen);
  };
  return (
    <label class="theme">
      <span class="unseen">Theme</span>
      <select value={theme} onChange={(event) => choose(event.currentTarget.value)}>
        {THEMES.map((one) => (
          <option key={one.theme} value={one.theme}>
            {one.name}
          </option>
        ))}
      </select>
    </label>
  );
}
