// The configuration in force as lines: what was set and where, and the values of the other keys. A leaf, main thread.

import type { ShownSetting } from "../../config/shown-config.ts";

const NAME_LENGTH = 44;

/** `server.port                  2444    application.yml:3:9`; keys that were not set come last, without a location. */
export function configText(settings: readonly ShownSetting[]): string {
  const set = settings.filter(({ location }) => location !== "default");
  const others = settings.filter(({ location }) => location === "default");
  const lines = set.map(
    ({ name, value, location }) => `${name.padEnd(NAME_LENGTH)} ${oneLine(value)}    (${location})`,
  );
  return [
    ...(lines.length === 0 ? ["nothing is set"] : lines),
    "",
    "as they come:",
    ...others.map(({ name, value }) => `${name.padEnd(NAME_LENGTH)} ${oneLine(value) || '""'}`),
  ].join("\n");
}

function oneLine(value: string): string {
  return value.replaceAll(/\s*\n\s*/g, " ");
}
