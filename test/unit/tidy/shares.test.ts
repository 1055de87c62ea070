import { posix } from "node:path";
import { expect, test } from "vitest";
import { projectFiles, typescriptFiles } from "../../support/project-files.ts";

const PAGE = "docs/internals/shares.md";
/** What counts something up to a bound. */
const BOUND =
  /new (?:KeyedSemaphore|Semaphore|ByteBudget|BoundedMap|SharedMap|FairQueue|TokenBucket|MemoryCache)\b|\bbound: \{/;
/** Of whom an entry can say that the bound is theirs. */
const WHOSE =
  /\bby (?:[\w,]+ )*(?:account|client|key|user|network|browser|session|player|track|connection|site|host|cache|worker|node)\b/;

const listed = Array.from(
  projectFiles("docs/internals/")
    .find(({ path }) => path === PAGE)
    ?.text.matchAll(/^- (`.+`): (.+(?:\n {2}.+)*)/gm) ?? [],
  ([, files = "", text = ""]) => ({ files: Array.from(files.matchAll(/[\w-]+\.ts/g), ([file]) => file), text }),
);
const bounded = typescriptFiles("src/", "plugins/").filter(({ text }) => BOUND.test(text));

test("every file that bounds something is in the list of bounds, which says whose each is", () => {
  expect(bounded.length).toBeGreaterThan(20);
  const names = listed.flatMap(({ files }) => files);
  expect(bounded.map(({ path }) => posix.basename(path)).filter((name) => !names.includes(name))).toEqual([]);
  expect(listed.filter(({ text }) => !WHOSE.test(text))).toEqual([]);
});
