// Writes positions four times a second into elements that have `data-position`, and shares of the length into those
// that have `data-fill`: past the framework, as nothing else of a row changes with them. In the browser.

import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { clockTime } from "../state/format.ts";
import { type Movement, positionAt } from "../state/player-line.ts";
import type { PageProps } from "./page-props.ts";

const PERIOD_MS = 250;

/** Inside `place`; both attributes hold a player's key. They stand still without a connection. */
export function useMovingPositions(place: RefObject<HTMLElement | null>, { store, known, isLive }: PageProps): void {
  // New rows have their position before they are seen.
  useLayoutEffect(() => write(place.current, known.movements, store.nodeNow()), [known.latest]);
  useLayoutEffect(() => {
    if (!isLive) return;
    const timer = setInterval(() => write(place.current, store.state.movements, store.nodeNow()), PERIOD_MS);
    return () => clearInterval(timer);
  }, [isLive, store]);
}

function write(place: HTMLElement | null, movements: ReadonlyMap<string, Movement>, nodeNowMs: number): void {
  for (const element of place?.querySelectorAll<HTMLElement>("[data-position]") ?? []) {
    const movement = movements.get(element.dataset.position ?? "");
    const text = movement === undefined ? "" : clockTime(positionAt(movement, nodeNowMs));
    if (element.textContent !== text) element.textContent = text;
  }
  for (const element of place?.querySelectorAll<HTMLElement>("[data-fill]") ?? []) {
    const movement = movements.get(element.dataset.fill ?? "");
    const lengthMs = movement?.lengthMs ?? 0;
    const share = movement === undefined || lengthMs <= 0 ? 0 : positionAt(movement, nodeNowMs) / lengthMs;
    // Steps that can be seen: a style that stays the same costs nothing.
    const transform = `scaleX(${share.toFixed(3)})`;
    if (element.style.transform !== transform) element.style.transform = transform;
  }
}
