// Makes JSON of what a plugin passes, which may be anything. Plugin thread.

import type { Json } from "../../plugin-api/plugin.ts";

/** Throws for what is not JSON, or has more characters. */
export function plainJson(value: unknown, lengthMax: number): Json {
  const text = JSON.stringify(value);
  if (text === undefined || text.length > lengthMax)
    throw new Error(`expected JSON of at most ${lengthMax} characters`);
  return JSON.parse(text) as Json;
}
