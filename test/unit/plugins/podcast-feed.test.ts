import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { rssFeed } from "../../../lab/sites/podcasts.ts";
import { type Feed, FeedReader, type FeedReaderOptions } from "../../../plugins/podcasts/feed-reader.ts";
import { dateMsOf, durationMsOf, feedDecoder, plainTitle, webLink } from "../../../plugins/podcasts/feed-text.ts";

const URL_OF_FEED = "https://feeds.example/a/show.rss";

function readFeed(text: string, options: Partial<FeedReaderOptions> = {}): { feed: Feed | undefined; read: number } {
  const reader = new FeedReader({ url: URL_OF_FEED, episodesMax: 100, ...options });
  let read = 0;
  for (; read < text.length && !reader.isDone; read += 1000) reader.write(text.slice(read, read + 1000));
  return { feed: reader.finish(), read };
}

function titlesOf(text: string, options: Partial<FeedReaderOptions> = {}): string[] | undefined {
  return readFeed(text, options).feed?.episodes.map(({ title }) => title);
}

/** Days from the start of 2020, as feeds write them. */
function day(number: number): string {
  return new Date(Date.UTC(2020, 0, 1 + number)).toUTCString();
}

function days(numbers: readonly number[]): string {
  return rssFeed(
    numbers.map((number) => ({
      title: `Day ${number}`,
      guid: `${number}`,
      date: day(number),
      url: `https://a.example/${number}.mp3`,
    })),
  );
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

test("an RSS feed's data on a show and its episodes is read completely", () => {
  const more = [
    "<link>https://show.example/7</link><itunes:duration>1:02:03</itunes:duration>",
    '<itunes:episode>7</itunes:episode><itunes:image href="cover-7.jpg"/>',
    "<description><![CDATA[<title>not this</title>]]></description>",
  ].join("");
  const date = "Tue, 02 Jun 2026 06:00:00 +0200";
  const { feed } = readFeed(
    rssFeed([{ title: "Seven", guid: " g-7 ", date, url: "https://a.example/7.mp3?x=1&y=2", more }]),
  );
  expect(feed).toEqual({
    title: "The Made-up Show",
    author: "Ann Author",
    imageUrl: "https://show.example/cover.jpg",
    pageUrl: "https://show.example/",
    episodes: [
      {
        guid: "g-7",
        title: "Seven",
        enclosureUrl: "https://a.example/7.mp3?x=1&y=2",
        enclosureType: "audio/mpeg",
        lengthMs: 3_723_000,
        publishedMs: Date.UTC(2026, 5, 2, 4),
        imageUrl: "https://feeds.example/a/cover-7.jpg",
        pageUrl: "https://show.example/7",
        number: 7,
      },
    ],
  });
});

test("a feed in Atom, and one in RSS 1.0, is read completely", () => {
  const atom = `<feed xmlns="http://www.w3.org/2005/Atom"><title type="xhtml"><div>An <b>Atom</b> show</div></title>
    <author><name>Bo</name><email>bo@show.example</email></author><logo>/logo.png</logo><link rel="self" href="/self"/>
    <link href="https://show.example/"/>
    <entry><title type="html">&lt;i&gt;One&lt;/i&gt;</title><id>urn:1</id><author><name>Guest</name></author>
    <link rel="enclosure" type="audio/ogg" href="/1.ogg"/><link rel="alternate" href="/1.html"/>
    <updated>2026-01-03T00:00:00Z</updated><published>2026-01-02T00:00:00Z</published></entry></feed>`;
  expect(readFeed(atom).feed).toMatchObject({
    title: "An Atom show",
    author: "Bo",
    imageUrl: "https://feeds.example/logo.png",
    pageUrl: "https://show.example/",
    episodes: [
      {
        guid: "urn:1",
        title: "One",
        enclosureUrl: "https://feeds.example/1.ogg",
        enclosureType: "audio/ogg",
        pageUrl: "https://feeds.example/1.html",
        publishedMs: Date.UTC(2026, 0, 2),
      },
    ],
  });
  const rdf = `<rdf:RDF><channel><title>Old</title></channel><image><title>not this</title></image>
    <item><title>First</title><dc:date>2020-01-01</dc:date><enclosure url="/1.mp3"/></item></rdf:RDF>`;
  expect(readFeed(rdf).feed).toMatchObject({
    title: "Old",
    episodes: [{ title: "First", publishedMs: Date.UTC(2020, 0, 1) }],
  });
});

const ONE = { title: "One", enclosureUrl: "https://example.com/1.mp3" };
const ATOM = "http://www.w3.org/2005/Atom";
const ITUNES = "http://www.itunes.com/dtds/podcast-1.0.dtd";
const MP3 = 'url="https://example.com/1.mp3" type="audio/mpeg"';

test.each([
  [
    "Atom with a prefix, as recorded",
    readFileSync(new URL("../../fixtures/podcasts/prefixed-atom.xml", import.meta.url), "utf8"),
  ],
  [
    "RSS with a prefix of a namespace",
    `<x:rss xmlns:x="http://backend.userland.com/rss2"><x:channel><x:title>Show</x:title>
    <x:item><x:title>One</x:title><x:enclosure ${MP3}/></x:item></x:channel></x:rss>`,
  ],
  [
    "RSS with a prefix that is bound to nothing",
    `<x:rss><x:channel><x:title>Show</x:title><x:item><x:title>One</x:title><x:enclosure ${MP3}/></x:item></x:channel>
    </x:rss>`,
  ],
  [
    "RSS whose root alone has a prefix",
    `<x:rss xmlns:x="urn:x"><channel><title>Show</title><item><title>One</title><enclosure ${MP3}/></item></channel>
    </x:rss>`,
  ],
  [
    "Atom with two prefixes of its namespace",
    `<feed xmlns="${ATOM}" xmlns:a="${ATOM}"><a:title>Show</a:title><a:entry><title>One</title>
    <a:link rel="enclosure" type="audio/mpeg" href="https://example.com/1.mp3"/></a:entry></feed>`,
  ],
  [
    "RSS 1.0 with a prefix, and its module for enclosures",
    `<RDF xmlns="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:r="http://purl.org/rss/1.0/"
      xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://purl.oclc.org/net/rss_2.0/enc#">
    <r:channel rdf:about="x"><r:title>Show</r:title></r:channel><r:item><r:title>One</r:title>
    <e:enclosure rdf:resource="https://example.com/1.mp3" enc:type="audio/mpeg"/></r:item></RDF>`,
  ],
])("a feed in %s is read", (_what, text) => {
  expect(readFeed(text).feed).toMatchObject({ title: "Show", episodes: [ONE] });
});

test.each([
  ["another prefix", `xmlns:it="${ITUNES}"`, "it"],
  ["the prefix bound to nothing", "", "itunes"],
  ["the namespace spelled otherwise", 'xmlns:it="HTTPS://www.itunes.com/DTDs/Podcast-1.0.dtd/"', "it"],
  ["an unknown namespace", 'xmlns:itunes="urn:x"', "itunes"],
])("members of iTunes are read with %s", (_what, binding, prefix) => {
  const { feed } = readFeed(`<rss ${binding}><channel><title>Show</title><${prefix}:author>Ann</${prefix}:author>
    <item><title>One</title><${prefix}:duration>1:00</${prefix}:duration><${prefix}:image href="https://example.com/1.png"/>
    <enclosure ${MP3}/></item></channel></rss>`);
  expect(feed).toMatchObject({
    author: "Ann",
    episodes: [{ ...ONE, lengthMs: 60_000, imageUrl: "https://example.com/1.png" }],
  });
});

test("namespaces hold within the element that binds them only", () => {
  const { feed } = readFeed(`<rss xmlns:a="${ITUNES}"><channel><title>Show</title>
    <item><title>One</title><media xmlns:a="http://purl.org/dc/elements/1.1/" xmlns="${ITUNES}"><duration>9</duration></media>
    <a:duration>1:00</a:duration><duration xmlns="${ITUNES}">2:00</duration><enclosure ${MP3}/></item></channel></rss>`);
  expect(feed).toMatchObject({ title: "Show", episodes: [{ ...ONE, lengthMs: 60_000 }] });
});

test("a default namespace in a description does not change what follows", () => {
  const { feed } = readFeed(`<feed xmlns="${ATOM}"><title>Show</title><entry><content type="xhtml">
    <div xmlns="http://www.w3.org/1999/xhtml"><link rel="enclosure" href="https://example.com/x.mp3"/></div></content>
    <title>One</title><link rel="enclosure" href="https://example.com/1.mp3"/></entry></feed>`);
  expect(feed).toMatchObject({ title: "Show", episodes: [ONE] });
});

test.each([
  ["m:content", '<m:content url="https://example.com/1.mp3" type="audio/mpeg"/>'],
  ["a group", '<m:group><m:content url="https://example.com/1.mp3" type="audio/mpeg"/></m:group>'],
  ["medium alone", '<m:content url="https://example.com/1.mp3" medium="audio"/>'],
  [
    "medium beside a picture",
    '<m:content url="https://example.com/1.jpg" medium="image"/><m:content medium="Audio" url="https://example.com/1.mp3"/>',
  ],
  [
    "audio after video",
    '<m:content url="https://example.com/1.mp4" medium="video"/><m:content url="https://example.com/1.mp3" medium="audio"/>',
  ],
])("the audio of Media RSS is found by %s", (_what, content) => {
  const { feed } = readFeed(`<rss xmlns:m="http://search.yahoo.com/mrss/"><channel><title>Show</title>
    <item><title>One</title>${content}</item></channel></rss>`);
  expect(feed).toMatchObject({ title: "Show", episodes: [ONE] });
});

test.each(["audio", "video"])("an episode of Media RSS with the medium %s alone needs no file name", (medium) => {
  const { feed } = readFeed(`<rss xmlns:media="http://search.yahoo.com/mrss/"><channel><item><title>One</title>
    <media:content url="https://example.com/play?id=1" medium="${medium}"/></item></channel></rss>`);
  expect(feed?.episodes).toMatchObject([{ enclosureUrl: "https://example.com/play?id=1", enclosureType: undefined }]);
});

test("an episode without a duration has that of its audio in Media RSS", () => {
  const lengths = (more: string) =>
    readFeed(`<rss xmlns:media="http://search.yahoo.com/mrss/"><channel><item><title>One</title>${more}
    <media:content url="https://example.com/1.ogg" medium="audio" duration="120"/></item></channel></rss>`).feed?.episodes.map(
      ({ lengthMs }) => lengthMs,
    );
  expect(lengths("")).toEqual([120_000]);
  expect(lengths("<itunes:duration>60</itunes:duration>")).toEqual([60_000]);
});

test.each([
  ["with a type", 'url="/1.mp3" type="audio/mpeg" duration="90"', 90_000],
  ["without type or medium", 'url="https://feeds.example/1.mp3" duration="90"', 90_000],
  ["of another address", 'url="/2.mp3" type="audio/mpeg" duration="90"', undefined],
])("an enclosure's length is that of a Media RSS element %s", (_, attributes, length) => {
  const { feed } = readFeed(`<rss xmlns:media="http://search.yahoo.com/mrss/"><channel><item><title>One</title>
    <enclosure url="/1.mp3" type="audio/mpeg" length="1"/><media:content ${attributes}/></item></channel></rss>`);
  expect(feed?.episodes.map(({ lengthMs }) => lengthMs)).toEqual([length]);
});

test("a picture that calls itself audio is not an episode", () => {
  const { feed } = readFeed(`<rss xmlns:media="http://search.yahoo.com/mrss/"><channel><item><title>One</title>
    <media:content url="https://example.com/1.jpg" type="image/jpeg" medium="audio"/></item></channel></rss>`);
  expect(feed?.episodes).toEqual([]);
});

test("episodes are sorted newest first, and no more is read than needed", () => {
  const feed = days(upTo(5000).reverse());
  const { feed: found, read } = readFeed(feed);
  expect(found?.episodes.map(({ guid }) => guid)).toEqual(upTo(5000).reverse().slice(0, 100).map(String));
  expect(read).toBeLessThan(feed.length / 40);
});

test("a feed that begins with its first episode is read completely, and its newest are returned", () => {
  expect(titlesOf(days(upTo(5000)), { episodesMax: 3 })).toEqual(["Day 4999", "Day 4998", "Day 4997"]);
  expect(titlesOf(days(upTo(4)))).toEqual(["Day 3", "Day 2", "Day 1", "Day 0"]);
  expect(titlesOf(days([4, 2, 3]), { episodesMax: 1 })).toEqual(["Day 4"]);
});

test("episodes without a date keep the feed's order", () => {
  const episodes = ["a", "b", "c"].map((title) => ({ title, url: `https://a.example/${title}.mp3` }));
  expect(titlesOf(rssFeed(episodes))).toEqual(["a", "b", "c"]);
  const [first, second, third] = episodes;
  const mixed = [first, { ...second, date: day(5) }, third, { ...first, title: "d", date: day(9) }];
  expect(titlesOf(rssFeed(mixed as typeof episodes))).toEqual(["d", "a", "b", "c"]);
});

test("a single episode is found by its guid at any position, and reading stops there", () => {
  const feed = days(upTo(5000).reverse());
  const { feed: found, read } = readFeed(feed, { episodesMax: 1, guid: "2500" });
  expect(found?.episodes.map(({ title }) => title)).toEqual(["Day 2500"]);
  expect(read).toBeLessThan(feed.length * 0.52);
  expect(titlesOf(feed, { guid: "nobody" })).toEqual([]);
});

test("an item without audio is not an episode, and of several enclosures the audio is used", () => {
  const item = (inside: string) => `<item><title>x</title>${inside}</item>`;
  const urls = (inside: string) =>
    readFeed(`<rss><channel>${item(inside)}</channel></rss>`).feed?.episodes.map((e) => e.enclosureUrl);
  expect(urls("")).toEqual([]);
  expect(urls('<enclosure url="/a.jpg" type="image/jpeg"/>')).toEqual([]);
  expect(urls('<enclosure url="/a.mp3" type="text/html"/>')).toEqual([]);
  expect(urls('<enclosure url="/a.pdf" type="application/pdf"/>')).toEqual([]);
  expect(urls('<enclosure url="ftp://a.example/a.mp3" type="audio/mpeg"/>')).toEqual([]);
  expect(urls('<enclosure url="javascript:0" type="audio/mpeg"/>')).toEqual([]);
  expect(urls('<enclosure type="audio/mpeg"/>')).toEqual([]);
  expect(urls('<media:content url="/a.jpg"/>')).toEqual([]);
  expect(urls('<enclosure url="/a.MP3" type="application/octet-stream"/>')).toEqual(["https://feeds.example/a.MP3"]);
  expect(urls('<enclosure url="/listen"/>')).toEqual(["https://feeds.example/listen"]);
  expect(urls('<media:group><media:content url="/m" type="audio/mp4"/></media:group>')).toEqual([
    "https://feeds.example/m",
  ]);
  const both = '<enclosure url="/v.mp4" type="video/mp4"/><enclosure url="/a.mp3" type="audio/mpeg"/>';
  expect(urls(both)).toEqual(["https://feeds.example/a.mp3"]);
});

test("an episode without a guid, or with an overlong one, is identified by its audio address", () => {
  const url = "https://a.example/1.mp3";
  const guids = (guid?: string) =>
    readFeed(rssFeed([{ title: "x", url, ...(guid !== undefined && { guid }) }])).feed?.episodes[0]?.guid;
  expect([guids(), guids(" "), guids("g".repeat(501)), guids("g".repeat(500))]).toEqual([
    url,
    url,
    url,
    "g".repeat(500),
  ]);
});

test("custom entities of a feed are not expanded", () => {
  const bomb = `<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
    <!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY file SYSTEM "file:///etc/passwd">]>
    <rss><channel><title>&c;&file;</title>
    <item><title>&c; &amp; &eacute;</title><enclosure url="/1.mp3"/></item></channel></rss>`;
  expect(readFeed(bomb).feed).toMatchObject({ title: "&c;&file;", episodes: [{ title: "&c; & é" }] });
});

test.each([
  ["elements within elements", "<a>".repeat(400_000)],
  [
    "attributes",
    `<a ${upTo(100_000)
      .map((number) => `b${number}="1"`)
      .join(" ")}/>`,
  ],
  ["a name", `<${"a".repeat(2_000_000)}/>`],
  ["an attribute", `<a b="${"c".repeat(2_000_000)}"/>`],
  ["a comment", `<!--${"a".repeat(2_000_000)}-->`],
  ["a declaration", `<!DOCTYPE ${"a".repeat(2_000_000)}>`],
  ["closing tags of nothing", `${"<a>".repeat(300)}${"</b>".repeat(300_000)}`],
])("endless %s cost little, and the part read before is used", (_name, junk) => {
  const text = days([1]).replace("</channel>", `${junk}</channel>`);
  const { feed, read } = readFeed(text);
  expect(feed?.episodes.map(({ title }) => title)).toEqual(["Day 1"]);
  expect(read).toBeLessThan(text.length / 2);
});

test("endless texts are cut: descriptions are skipped, a title keeps its first 500 characters", () => {
  const long = "x".repeat(3_000_000);
  const item = { title: long, guid: "1", url: "https://a.example/1.mp3", more: `<description>${long}</description>` };
  const { feed } = readFeed(rssFeed([item, { ...item, title: `<![CDATA[${"y".repeat(200_000)}]]>` }]));
  expect(feed?.episodes.map(({ title }) => title)).toEqual(["x".repeat(500), "y".repeat(500)]);
  // Only the first 5,000 characters are searched for markup.
  expect(titlesOf(rssFeed([{ ...item, title: `${"&lt;b&gt;".repeat(3000)}x` }]))).toEqual(["<b"]);
});

test("a feed that is not well-formed XML is read", () => {
  const feed = `<rss><channel><title>Rock & Roll</title><item><title>A <3 B</title>
    <description>one<br>two<br></description>
    <enclosure url=/1.mp3 type=audio/mpeg></item><item><title>C</title><enclosure url="/2.mp3"/></item>`;
  expect(readFeed(feed).feed).toMatchObject({ title: "Rock & Roll", episodes: [{ title: "A <3 B" }, { title: "C" }] });
});

test("a page, JSON and an empty text are not feeds", () => {
  for (const text of ["<!doctype html><html><body><rss/></body></html>", '{"rss":1}', "", "<", "<rss-like/>"]) {
    expect(readFeed(text).feed).toBeUndefined();
  }
  expect(readFeed("<rss></rss>").feed?.episodes).toEqual([]);
});

test("items within items and titles of other elements do not belong to the show", () => {
  const feed = `<rss><channel><image><title>of a picture</title><url>/i.png</url></image><title>Show</title>
    <item><a><item><title>within</title><enclosure url="/x.mp3"/></item></a><title>One</title>
    <enclosure url="/1.mp3"/></item>
    </channel></rss>`;
  expect(readFeed(feed).feed).toMatchObject({
    title: "Show",
    imageUrl: "https://feeds.example/i.png",
    episodes: [{ title: "One", enclosureUrl: "https://feeds.example/1.mp3" }],
  });
});

test("the encoding is that of the byte order mark, the content type or the declaration", () => {
  const bytes = (text: string, encoding: BufferEncoding) => Buffer.from(text, encoding);
  const decode = (data: Uint8Array, contentType = "text/xml") => feedDecoder(data, contentType).decode(data);
  const declared = (name: string) => `<?xml version="1.0" encoding="${name}"?><t>é</t>`;
  expect(decode(bytes(declared("iso-8859-1"), "latin1"))).toContain("é");
  expect(decode(bytes("<t>é</t>", "latin1"), 'text/xml; charset="ISO-8859-1"')).toContain("é");
  expect(decode(bytes(declared("utf-8"), "utf8"))).toContain("é");
  expect(decode(bytes(declared("utf-8"), "latin1"), "text/xml;charset=latin1")).toContain("é");
  expect(decode(bytes("\uFEFF<t>é</t>", "utf8"), "text/xml;charset=latin1")).toContain("é");
  expect(decode(bytes(`\uFEFF${declared("iso-8859-1")}`, "utf8"))).toContain("é");
  expect(decode(bytes(declared("utf-16"), "utf16le"))).toContain("é");
  expect(decode(bytes(`\uFEFF${declared("utf-16")}`, "utf16le").swap16())).toContain("é");
  expect(decode(Buffer.from([...bytes(declared("windows-1251"), "latin1").subarray(0, -5), 0xe9, 0x3c]))).toContain(
    "й",
  );
  expect(decode(bytes(declared("no-such-thing"), "utf8"), "text/xml; charset=neither")).toContain("é");
});

test("titles lose only markup, double-escaped entities and white space", () => {
  expect(plainTitle(" <b>Tom</b> &amp;\n\tJerry &#39;&#x201c;&nbsp;x ")).toBe("Tom & Jerry '“ x");
  expect(plainTitle("1 < 2 > 0 &unknown; &#0; &#xd800; I <3 U")).toBe("1 < 2 > 0 &unknown; &#0; &#xd800; I <3 U");
  expect([plainTitle("<br/>"), plainTitle(undefined)]).toEqual([undefined, undefined]);
  expect(plainTitle(`${"a".repeat(499)}😀`)).toBe("a".repeat(499));
});

test("durations are seconds, m:s or h:m:s", () => {
  expect(["90", "1:30", "1:00:30", "01:02:03.5", " 5 "].map(durationMsOf)).toEqual([
    90_000, 90_000, 3_630_000, 3_723_000, 5000,
  ]);
  for (const text of ["0", "", "90 min", "-1", "1:2:3:4", "99999999", "90000", undefined])
    expect(durationMsOf(text)).toBeUndefined();
});

test("dates have the form of mail or of RFC 3339", () => {
  const expected = Date.UTC(2026, 5, 2, 4);
  expect(["Tue, 02 Jun 2026 06:00:00 +0200", "2026-06-02T04:00:00Z", " 2 Jun 2026 04:00 GMT"].map(dateMsOf)).toEqual(
    Array(3).fill(expected),
  );
  for (const text of ["yesterday", "", undefined, "9".repeat(101)]) expect(dateMsOf(text)).toBeUndefined();
});

test("links become absolute, without user and fragment", () => {
  expect(webLink(" ../b?x#y ", URL_OF_FEED)).toBe("https://feeds.example/b?x");
  expect(webLink("http://user:secret@a.example/b")).toBe("http://a.example/b");
  for (const text of ["b", "file:///etc/passwd", "", undefined, `https://a.example/${"b".repeat(4000)}`])
    expect(webLink(text)).toBeUndefined();
});
