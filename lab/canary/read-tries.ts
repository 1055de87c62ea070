// Reads an operator's own list of requests: a small YAML or JSON file that overrides the canary's list.

import { parse } from "yaml";
import { z } from "zod";
import type { SourceTries, Tries } from "./tries.ts";

const TEXT_LENGTH_MAX = 64 * 1024;

const identifier = z.string().min(1).max(4096).nullable().optional();
const schema = z.record(z.string(), z.strictObject({ search: identifier, link: identifier }));

/** Merges `text` over `base`, member by member. Throws an Error that says what is wrong with it. */
export function readTries(text: string, base: Tries): Tries {
  if (text.length > TEXT_LENGTH_MAX) throw new Error(`more than ${TEXT_LENGTH_MAX} characters`);
  const read = schema.safeParse(parse(text) ?? {});
  if (!read.success) throw new Error(z.prettifyError(read.error));
  const own = Object.entries(read.data).map(([name, tries]): [string, SourceTries] => [
    name,
    { ...base[name], ...tries },
  ]);
  return { ...base, ...Object.fromEntries(own) };
}
