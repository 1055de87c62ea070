// The tables of docs/reference/filters.md, generated from the filter table: the protocol's filters, our own, and those
// of Lavalink's plugins.

import type { FilterEntry, Member, NumberMember } from "../../src/filters/filter-entry.ts";
import { FILTER_TABLE } from "../../src/filters/filter-table.ts";

const HEAD = "| Member | Default | Range | Meaning |\n| --- | --- | --- | --- |\n";
/** `lavadspx.echo` is sent as `echo`. */
const PLUGIN_OF_FILTER = /^(?:lavadspx|lavalink-filter-plugin)\./;
const TABLE = /^\| Member \| Default \| Range \|.*\n(?:\|.*\n)+/gm;

/** The page with both tables generated again. */
export function withFilterTables(page: string): string {
  const tables = [FILTER_TABLE.protocol, FILTER_TABLE.tonearm, FILTER_TABLE.lavalinkPlugins].map(tableOf);
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

function row(path: string, member: Member): string {
  const unit = "numberType" in member && member.unit !== undefined ? ` ${member.unit}` : "";
  const value = "item" in member ? "[]" : member.defaultValue;
  const defaultText = value === undefined ? "none" : `${value}${unit}`;
  return `| \`${path.replace(PLUGIN_OF_FILTER, "")}\` | ${defaultText} | ${valuesOf(member)} | ${member.meaning} |\n`;
}

function valuesOf(member: Member): string {
  if ("choices" in member) return member.choices.join(", ");
  if ("item" in member) return `up to ${member.countMax}: ${rangeOf(member.item)} ${member.item.unit ?? ""}`.trim();
  return "numberType" in member ? rangeOf(member) : "true, false";
}

function rangeOf({ min, max, isMinExcluded = false }: NumberMember): string {
  if (min === undefined) return "any";
  if (max === undefined) return isMinExcluded ? `above ${min}` : `at least ${min}`;
  return isMinExcluded ? `above ${min}, to ${max}` : `${min} to ${max}`;
}
