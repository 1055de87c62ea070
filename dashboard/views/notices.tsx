// The results of the latest actions, until they are closed. In the browser.

import { shortened } from "../state/format.ts";
import { questionOf } from "../state/words.ts";
import type { AskedAction } from "./page-props.ts";

/** One outcome; `error` is null when it is done. */
export interface Notice {
  readonly id: number;
  readonly action: Exclude<AskedAction, { kind: "downloadSupport" }> | { readonly kind: "logOut" };
  readonly subject: string;
  readonly error: string | null;
}

/** Newest last. Failures are announced immediately, the rest when the screen reader pauses. */
export function Notices(props: { readonly notices: readonly Notice[]; readonly close: (id: number) => void }) {
  return (
    <section class="notices" aria-label="Results of actions">
      <div role="alert">{props.notices.filter(({ error }) => error !== null).map(item(props.close))}</div>
      <div role="status">{props.notices.filter(({ error }) => error === null).map(item(props.close))}</div>
    </section>
  );
}

function item(close: (id: number) => void) {
  return (notice: Notice) => (
    <p key={notice.id} class={notice.error === null ? "notice" : "notice bad"}>
      <bdi>{textOf(notice)}</bdi>
      <button type="button" aria-label="Close this message" onClick={() => close(notice.id)}>
        ×
      </button>
    </p>
  );
}

function textOf({ action, subject, error }: Notice): string {
  const what = action.kind === "logOut" ? "Log out" : questionOf(action, subject).title.replace(/\?$/, "");
  return error === null ? `Done: ${what}.` : `Failed: ${what}: ${shortened(error)}`;
}
