import { expect, test } from "vitest";
import { asBandcamp } from "../../../plugins/bandcamp/bridge.ts";
import { attributeValues, readTokens } from "../../../plugins/bandcamp/page-reader.ts";
import { readSearchPage } from "../../../plugins/bandcamp/search-page.ts";
import { decodeEntities } from "../../../plugins/reading/entities.ts";

test("entities become characters, and other text stays", () => {
  expect(decodeEntities("&quot;a&amp;b&#39;&#x1F3B5;&lt;&apos;")).toBe(`"a&b'🎵<'`);
  expect(decodeEntities("&nope; &#99999999; &#1114112; &#0; & &amp")).toBe("&nope; &#99999999; &#1114112; &#0; & &amp");
  // Once is enough: double escaping means that one level stays.
  expect(decodeEntities("&amp;quot;")).toBe("&quot;");
});

test("an attribute is found by its whole name, in either kind of quotes", () => {
  expect(attributeValues(`<a data-x="1" x='2' mx="3" x=4 y="" x="5&amp;">`, "x")).toEqual(["2", "5&"]);
  expect(attributeValues(`<a x="1" x="never ends`, "x")).toEqual(["1"]);
});

test("a page is a sequence of tags and texts, without comments and the contents of scripts", () => {
  const page = `a<!-- <b> --><P class="x>y">1 < 2 &amp; 3</P><script>if (a<b) "<i>"</script><br/>don't<unfinished`;
  expect([...readTokens(page)]).toEqual([
    { kind: "text", text: "a" },
    { kind: "open", name: "p", attributes: ' class="x>y">' },
    { kind: "text", text: "1 " },
    { kind: "text", text: " 2 & 3" },
    { kind: "close", name: "p" },
    { kind: "open", name: "script", attributes: ">" },
    { kind: "close", name: "script" },
    { kind: "open", name: "br", attributes: "/>" },
    { kind: "text", text: "don't" },
    { kind: "open", name: "unfinished", attributes: "" },
  ]);
});

test.each([
  "<",
  "<a x=",
  '<a x="',
  "<!--",
  "<script>",
  "<li class=searchresult>",
  '<i class="searchresult">',
  "&#",
  "x='",
])("4 MB of %s are parsed in linear time", (piece) => {
  const page = piece.repeat((4 * 1024 * 1024) / piece.length);
  const startMs = performance.now();
  expect(readSearchPage(page)).toEqual([]);
  attributeValues(page, "x");
  for (const _token of readTokens(page));
  // Anything that grew with the square would take minutes.
  expect(performance.now() - startMs).toBeLessThan(20_000);
});

test("the artist of a search result is the last line, also if the album has a similar one", () => {
  const entry = (
    below: string,
  ) => `<li class="searchresult"><div class="itemtype">TRACK</div><div class="heading">T</div>
    <div class="subhead">${below}</div><div class="itemurl">https://a.bandcamp.com/track/t</div></li>`;
  const authors = ["from a\n by night\n by Real One", "by Baby Bobby", "from By Day by Night by Flat", "nothing"].map(
    (below) => readSearchPage(entry(below))[0]?.author,
  );
  expect(authors).toEqual(["Real One", "Baby Bobby", "Flat", undefined]);
});

test("at most fifty search results are returned", () => {
  const entry = `<li class="searchresult"><div class="itemtype">track</div><div class="heading">T</div>
    <div class="itemurl">https://a.bandcamp.com/track/t</div></li>`;
  expect(readSearchPage(entry.repeat(60))).toHaveLength(50);
});

test("a list of the bridge belongs to Bandcamp only if all its entries do", () => {
  const track = (uri: string) => ({ identifier: "x", title: "T", uri });
  const list = (...uris: string[]) => ({ kind: "playlist" as const, name: "L", tracks: uris.map(track) });
  const good = "https://a.bandcamp.com/track/t";
  expect(asBandcamp(list(good))).toMatchObject({ tracks: [{ identifier: good }] });
  expect(asBandcamp(list(good, "https://a.bandcamp.com/album/t"))).toBeUndefined();
  expect(asBandcamp(list())).toBeUndefined();
  expect(asBandcamp({ kind: "search", tracks: [track(good)] })).toBeUndefined();
});
