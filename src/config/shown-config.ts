// The configuration in force in a form that can be shared: the settings, their locations, and the defaults of all other
// keys; separately, the texts that must not be shown, so that they can be found in other output. Main thread, at start.

import { REDACTED, redactText } from "../lib/redact-text.ts";
import { isSecretName } from "../lib/secret-names.ts";
import { ALL_KEYS } from "./keys/all-keys.ts";
import { Secret } from "./keys/secret.ts";
import type { WrittenValue } from "./reading/setting-table.ts";

/** One value that counts. */
export interface ShownSetting {
  /** `lavalink.server.password`, `plugins.youtube.pot.token`. */
  readonly name: string;
  /** As it was written; `<redacted>` where it is secret or private. */
  readonly value: string;
  /** `application.yml:3:9`, `environment variable SERVER_PORT`, `--server.port`; `default`. */
  readonly location: string;
}

/** All values, and apart from them what they must not say. */
export interface ShownConfig {
  /** Configured keys first, in the order of the reference, then those with their default. */
  readonly settings: readonly ShownSetting[];
  /** The texts that are not shown, as they were written, but for common words: those would be missed everywhere. */
  readonly hidden: Secret<readonly string[]>;
}

/** Builds the shared form of the `written` values; the password is hidden even when it was generated. */
export function shownConfig(written: readonly WrittenValue[], password: Secret): ShownConfig {
  const set = written.map(({ name, text, location, isShown }) => ({
    name,
    value: isShown || text === "" ? redactText(text) : REDACTED,
    location,
  }));
  const hidden = written.filter((value) => !value.isShown && isRevealing(value)).map(({ text }) => text);
  return {
    settings: [...set, ...untouched(written)],
    hidden: new Secret([...hidden, password.reveal()]),
  };
}

/** False for common values that reveal little: a number, a word such as `WEB_EMBEDDED` or `highest`. */
function isRevealing({ name, text }: WrittenValue): boolean {
  return isSecretName(name.split(".").at(-1) ?? "") || !/^(?:[a-z]{1,19}|[A-Z\d_]{1,24}|\d{1,7}|.{1,5})$/s.test(text);
}

/** Keys that change nothing are left out unless they are set. */
function untouched(written: readonly WrittenValue[]): ShownSetting[] {
  const isSet = (path: string): boolean => written.some(({ name }) => name === path || name.startsWith(`${path}.`));
  return ALL_KEYS.filter(({ path, docs }) => docs.noEffect === undefined && !isSet(path)).map(
    ({ path, docs, defaultText }) => ({
      name: path,
      value: docs.defaultNote ?? defaultText ?? "none",
      location: "default",
    }),
  );
}
