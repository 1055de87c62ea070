// Small pieces that several views are made of. In the browser.

import type { ComponentChildren } from "preact";
import { shortened } from "../state/format.ts";

/**
 * An untrusted text: cut to a length, and isolated so that its writing direction does not affect the text around it.
 */
export function Untrusted({ text }: { readonly text: string }) {
  if (text === "") return null;
  const shown = shortened(text);
  return (
    <bdi class="untrusted" title={shown}>
      {shown}
    </bdi>
  );
}

/** The heading of a page; it gets the focus when the page is opened. */
export function PageTitle({ children }: { readonly children: ComponentChildren }) {
  return <h1 tabIndex={-1}>{children}</h1>;
}

/** A name and its value, in a `<dl class="facts">`. */
export function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The severity of a label. The symbol and the words carry it; the colour only helps. */
export type Mood = "good" | "plain" | "warn" | "bad";

const MARKS: Readonly<Record<Mood, string>> = { good: "●", plain: "○", warn: "◆", bad: "▲" };

/** A state in a word or two. */
export function Badge({ mood, children }: { readonly mood: Mood; readonly children: ComponentChildren }) {
  return (
    <span class={`badge ${mood}`}>
      <span aria-hidden="true">{MARKS[mood]}</span> {children}
    </span>
  );
}

/** A table wider than the screen scrolls by itself without the page, also by keyboard. */
export function WideTable({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="wide" aria-label={label} tabIndex={0}>
      <table>{children}</table>
    </section>
  );
}

/** Head cells of a table, in their order. */
export function HeadRow({ names }: { readonly names: readonly string[] }) {
  return (
    <thead>
      <tr>
        {names.map((name) => (
          <th key={name} scope="col">
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}
