// The tables of docs/reference/filters.md as the filter table has them: the protocol's filters first, then our
// own.

import type { ChoiceMember, FilterEntry, NumberMember } from "../../src/filters/filter-entry.ts";
import { FILTER_TABLE } from "../../src/filters/filter-table.ts";

const HEAD = "| Member | Default | Range | Meaning |\n| --- | --- | --- | --- |\n";
const TABLE = /^\| Member \| Default \| Range \|.*\n(?:\|.*\n)+/gm;

/** The page with both tables generated again. */
export function withFilterTables(page: string): string {
  const tables = [FILTER_TABLE.protocol, FILTER_TABLE.tonearm].map(tableOf);
  if (page.match(TABLE)?.length !== tables.length)
    throw new Error(`the page has not ${tables.length} tables of filters`);
  return page.replaceAll(TABLE, () => tables.shift() ?? "");
}

function tableOf(filters: Readonly<Record<string, FilterEntry>>): string {
  return (
    HEAD +
    Object.entries(filters)
      .flatMap(([name, entry]) => rowsOf(name, entry))
      .join("")
  );
}

function rowsOf(name: string, entry: FilterEntry): string[] {
  if (entry.kind === "number") return [row(name, entry.value)];
  const path = entry.kind === "list" ? `${name}[]` : name;
  return Object.entries(entry.members).map(([member, known]) => row(`${path}.${member}`, known));
}

function row(path: string, member: NumberMember | ChoiceMember): string {
  const unit = "choices" in member || member.unit === undefined ? "" : ` ${member.unit}`;
  const range = "choices" in member ? member.choices.join(", ") : rangeOf(member);
  const defaultText = member.defaultValue === undefined ? "none" : `${member.defaultValue}${unit}`;
  return `| \`${path}\` | ${defaultText} | ${range} | ${member.meaning} |\n`;
}

function rangeOf({ min, max, isMinExcluded = false }: NumberMember): string {
  if (min === undefined) return "any";
  if (max === undefined) return isMinExcluded ? `above ${min}` : `at least ${min}`;
  return isMinExcluded ? `above ${min}, to ${max}` : `${min} to ${max}`;
}
