// Asks once more before something is done, and says what will happen. The browser's own dialog: it keeps the focus
// inside, closes with Escape, and gives the focus back. In the browser.

import { useLayoutEffect, useRef } from "preact/hooks";
import { type Question, questionOf } from "../state/words.ts";
import type { AskedAction } from "./page-props.ts";

interface ConfirmProps {
  readonly action: AskedAction;
  readonly subject: string;
  readonly isLive: boolean;
  readonly cancel: () => void;
  readonly confirm: () => void;
}

const SUPPORT_QUESTION: Question = {
  title: "Download a support bundle?",
  consequence:
    "A text with the masked configuration, versions, the last errors and counters: made to be shown to others. " +
    "Read it before you do.",
  button: "Download",
};

/** A dialog that is open while it is mounted. */
export function ConfirmDialog({ action, subject, isLive, cancel, confirm }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
      else document.querySelector<HTMLElement>("main h1")?.focus();
    };
  }, []);
  const { title, consequence, button } =
    action.kind === "downloadSupport" ? SUPPORT_QUESTION : questionOf(action, subject);
  return (
    <dialog ref={dialog} aria-labelledby="question" aria-describedby="consequence" onClose={cancel}>
      <h2 id="question">
        <bdi>{title}</bdi>
      </h2>
      <p id="consequence">{consequence}</p>
      <p class="buttons">
        <button type="button" autofocus onClick={cancel}>
          Cancel
        </button>
        <button type="button" class="do" disabled={!isLive} onClick={confirm}>
          {button}
        </button>
      </p>
    </dialog>
  );
}
