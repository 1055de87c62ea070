// Writes positions twice a second into elements that have `data-position`, and shares of the length into elements that
// have `data-fill`. It bypasses the framework, as nothing else of a row changes with them. In the browser.

import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { clockTime } from "../state/format.ts";
import { type Movement, positionAt } from "../state/player-line.ts";
import type { PageProps } from "./page-props.ts";

const PERIOD_MS = 500;

/** Inside `container`; both attributes hold a player's key. They stand still without a connection. */
export function useMovingPositions(
  container: RefObject<HTMLElement | null>,
  { store, known, isLive }: PageProps,
): void {
  const writeNow = (): void => write(container.current, store.state.movements, store.nodeNow());
  // New rows have their position before they are seen.
  useLayoutEffect(writeNow, [known.latest]);
  useLayoutEffect(() => {
    if (!isLive) return;
    const timer = setInterval(writeNow, PERIOD_MS);
    return () => clearInterval(timer);
  }, [isLive, store]);
}

function write(container: HTMLElement | null, movements: ReadonlyMap<string, Movement>, nodeNowMs: number): void {
  // All elements are read before any is written: reading after a write would make the browser lay the page out each
  // time.
  const elements = [...(container?.querySelectorAll<HTMLElement>("[data-position], [data-fill]") ?? [])].filter(
    isMeant,
  );
  for (const element of elements) {
    const { position, fill } = element.dataset;
    const movement = movements.get(position ?? fill ?? "");
    const positionMs = movement === undefined ? 0 : positionAt(movement, nodeNowMs);
    if (position !== undefined) writeText(element, movement === undefined ? "" : clockTime(positionMs));
    else writeShare(element, positionMs / (movement?.lengthMs || 1));
  }
}

function writeText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

function writeShare({ style }: HTMLElement, share: number): void {
  // Steps that can be seen: a style that stays the same costs nothing.
  const transform = `scaleX(${Math.min(1, share).toFixed(3)})`;
  if (style.transform !== transform) style.transform = transform;
}

/** Elements out of sight are skipped until they are visible, unless nothing has been written there yet. */
function isMeant(element: HTMLElement): boolean {
  if (element.textContent === "" && element.style.transform === "") return true;
  const { bottom, top } = element.getBoundingClientRect();
  return bottom >= 0 && top <= innerHeight;
}
