import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type ChoiceMember, type NumberMember, TONEARM_FILTERS } from "../../../src/bridge/tonearm-filters.ts";

test("docs/reference/filters.md has every member with its unit, default and range, in their order", () => {
  const page = readFileSync(new URL("../../../docs/reference/filters.md", import.meta.url), "utf8");
  const [, section = ""] = page.split("## More than Lavalink");
  const rows = [...section.matchAll(/^\| (.*) \| [^|]*\|$/gm)].map(([, cells = ""]) => cells);
  expect(rows.slice(2)).toEqual(Object.entries(TONEARM_FILTERS).flatMap(([name, members]) => rowsOf(name, members)));
});

function rowsOf(name: string, members: Readonly<Record<string, NumberMember | ChoiceMember>>): string[] {
  return Object.entries(members).map(([member, known], place) => {
    const [unit, range] = "choices" in known ? ["", known.choices.join(", ")] : [known.unit ?? "", rangeOf(known)];
    const cells = [place === 0 ? `\`${name}\`` : "", `\`${member}\``, unit, String(known.defaultValue), range];
    return cells
      .map((cell) => (cell === "" ? "" : ` ${cell} `))
      .join("|")
      .replaceAll("||", "| |")
      .trim();
  });
}

function rangeOf({ min, max, isMinExcluded = false }: NumberMember): string {
  return isMinExcluded ? `above ${min}, to ${max}` : `${min} to ${max}`;
}
