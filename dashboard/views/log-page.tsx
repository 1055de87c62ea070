// The node's log as it is written: by level and text, and it can be held still. In the browser.

import { Component, type RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { counted } from "../state/format.ts";
import { LOG_LEVELS, type PageRoute } from "../state/page-route.ts";
import { linesWith, type NumberedLine } from "../state/page-state.ts";
import type { PageProps } from "./page-props.ts";
import { Badge, type Mood, PageTitle } from "./pieces.tsx";

/** As near to the end as this, and the newest line stays in sight. */
const NEAR_PX = 30;

const MOODS: Readonly<Record<(typeof LOG_LEVELS)[number], Mood>> = {
  debug: "plain",
  info: "good",
  warn: "warn",
  error: "bad",
};

/** The log, newest line last and scrolled into view unless the user has scrolled up. */
export function LogPage({ known, route, go }: PageProps & { readonly route: Extract<PageRoute, { page: "log" }> }) {
  const [text, setText] = useState("");
  const [held, setHeld] = useState<readonly NumberedLine[] | null>(null);
  const list = useRef<HTMLElement>(null);
  const lines = linesWith(held ?? known.log, text);
  const waiting = held === null ? 0 : (known.log.at(-1)?.number ?? 0) - (held.at(-1)?.number ?? 0);
  return (
    <section class="log-page">
      <PageTitle>Log</PageTitle>
      <search class="tools">
        <label>
          Level
          <select
            value={route.level}
            onChange={(event) => {
              const level = LOG_LEVELS.find((one) => one === event.currentTarget.value) ?? "info";
              setHeld(null);
              go({ page: "log", level });
            }}
          >
            {LOG_LEVELS.map((level) => (
              <option key={level} value={level}>
                {level === "debug" ? "all" : level === "error" ? level : `${level} and worse`}
              </option>
            ))}
          </select>
        </label>
        <label>
          Filter
          <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <button type="button" aria-pressed={held !== null} onClick={() => setHeld(held === null ? known.log : null)}>
          Pause
        </button>
        <CopyButton text={() => lines.map((line) => line.text).join("\n")} list={list} />
        <span class="quiet">
          {counted(lines.length, "line")}
          {waiting > 0 && `, ${waiting} more since the pause`}
        </span>
      </search>
      <Lines lines={lines} list={list} />
    </section>
  );
}

interface CopyProps {
  readonly text: () => string;
  readonly list: RefObject<HTMLElement | null>;
}

/** Copies the shown lines; where the browser does not permit that, as without HTTPS, it selects them. */
function CopyButton({ text, list }: CopyProps) {
  const [result, setResult] = useState("");
  const copy = async (): Promise<void> => {
    setResult(await copyOrSelect(text(), list.current));
  };
  return (
    <>
      <button type="button" onClick={() => void copy()}>
        Copy
      </button>
      <span class="quiet" role="status">
        {result}
      </span>
    </>
  );
}

async function copyOrSelect(text: string, list: HTMLElement | null): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied.";
  } catch {
    // There is no clipboard, or no permission.
    if (list !== null) getSelection()?.selectAllChildren(list);
    return "Selected: press Ctrl+C or ⌘C to copy.";
  }
}

interface LinesProps {
  readonly lines: readonly NumberedLine[];
  readonly list: RefObject<HTMLElement | null>;
}

function Lines({ lines, list }: LinesProps) {
  const follows = useRef(true);
  const newest = lines.at(-1)?.number;
  useLayoutEffect(() => {
    if (follows.current && list.current !== null) list.current.scrollTop = list.current.scrollHeight;
  }, [newest, lines.length, list]);
  const scrolled = (element: HTMLElement): void => {
    follows.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
  };
  return (
    <section
      ref={list}
      class="log"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
      aria-label="Lines of the log, newest last"
      onScroll={(event) => scrolled(event.currentTarget)}
    >
      {lines.length === 0 && <p class="none">Nothing yet.</p>}
      <ol>
        {lines.map((line) => (
          <Line key={line.number} line={line} />
        ))}
      </ol>
    </section>
  );
}

class Line extends Component<{ readonly line: NumberedLine }> {
  override shouldComponentUpdate(next: { readonly line: NumberedLine }): boolean {
    return next.line !== this.props.line;
  }

  override render({ line }: { readonly line: NumberedLine }) {
    return (
      <li class={line.level}>
        <Badge mood={MOODS[line.level]}>
          <bdi>{line.text}</bdi>
        </Badge>
      </li>
    );
  }
}
