// Titles as people write them: what is the same recording as the wanted one, and what only looks like it.

import { expect, test } from "vitest";
import { type ComparedTrack, scoreRecording } from "../../../src/recordings/same-recording.ts";
import { UNKNOWN_LENGTH_MS } from "../../../src/track/track-details.ts";

/** Title, author, and seconds where they are known. */
type Side = readonly [title: string, author: string, seconds?: number];

function trackOf([title, author, seconds]: Side): ComparedTrack {
  const length = seconds === undefined ? UNKNOWN_LENGTH_MS : seconds * 1000;
  return { title, author, length, isStream: false, isrc: null };
}

const HOTEL: Side = ["Crimson Tide Hotel", "Nora Vale", 200];
const LIVE: Side = ["Crimson Tide Hotel - Live at Brixby Hall", "Nora Vale", 200];
const REMIX: Side = ["Crimson Tide Hotel - Rex Odom Remix", "Nora Vale", 200];

/** What is played as HOTEL: title, author. */
const COPIES: readonly (readonly [string, string])[] = [
  ["NORA VALE – CRIMSON TIDE HOTEL | Official Music Video | 2024", "Big Owl Records"],
  ["Crimson Tide Hotel - Nora Vale (Lyrics)", "SyrebralVibes"],
  ["[Lyrics] Nora Vale - Crimson Tide Hotel", "Cloudy Words"],
  ["Nora Vale - Crimson Tide Hotel (Sub Español)", "TraduGirl"],
  ["Nora Vale - Crimson Tide Hotel [Lyrics / Vietsub]", "TraduGirl"],
  ["Nora Vale: Crimson Tide Hotel (Official Lyric Video)", "noravale"],
  ["NoraVale - Crimson Tide Hotel", "Kite Records"],
  ["Crimson Tide Hotel [Explicit]", "Nora Vale"],
  ["Crimson Tide Hotel (Original Mix)", "Nora Vale"],
  ["Crimson Tide Hotel (2020 Remaster)", "Nora Vale - Topic"],
  ["Nora Vale feat. Rex Odom - Crimson Tide Hotel", "Nora Vale"],
  ["Nora Vale ft Rex Odom- Crimson Tide Hotel", "Kite Records"],
  ["Nora Vale & Rex Odom - Crimson Tide Hotel", "Nora Vale"],
  ["02. Crimson Tide Hotel", "Nora Vale"],
  ["Nora Vale - Crimson Tide Hotel (Official Video) prod. by Rex Odom", "Nora Vale"],
  ['Nora Vale - Crimson Tide Hotel (From "The Long Pier" Soundtrack)', "Nora Vale"],
];

const SAME: readonly (readonly [Side, Side])[] = [
  [
    ["Crimson Tide Hotel", "Nora Vale,\u00a0Rex Odom", 200],
    ["Crimson Tide Hotel", "Nora Vale - Topic", 200],
  ],
  [
    ["Crimson Tide Hotel - Remastered 2011 / Mono", "Nora Vale", 200],
    ["Crimson Tide Hotel", "Nora Vale", 200],
  ],
  [
    ["Crimson Tide Hotel - 2011 Remastered Version", "Nora Vale", 200],
    ["Crimson Tide Hotel", "Nora Vale", 200],
  ],
  [LIVE, ["Nora Vale - Crimson Tide Hotel (Live at Brixby Hall, 2014) [Official Video]", "Nora Vale", 201]],
  [LIVE, ["Crimson Tide Hotel (Live)", "Nora Vale - Topic", 201]],
  [REMIX, ["Nora Vale - Crimson Tide Hotel (Rex Odom Remix)", "Rex Odom", 201]],
  [
    ["Ça va déjà", "Zoé Lumen", 200],
    ["ZOE LUMEN - CA VA DEJA (Clip Officiel)", "Zoé Lumen", 201],
  ],
  [
    ["Hoshi no Kakera", "Minato", 200],
    ["Minato - 星のかけら (Hoshi no Kakera)", "Minato", 201],
  ],
  [
    ["밤편지 없이", "서린", 200],
    ["[MV] 서린(Seorin) _ 밤편지 없이(No Night Letter)", "1theQ (원더케이)", 201],
  ],
  [
    ["Vale of Nora", "Nora Vale", 180],
    ["Nora Vale - Vale of Nora", "Nora Vale", 180],
  ],
  [
    ["???", "Nora Vale", 180],
    ["???", "Nora Vale - Topic", 180],
  ],
];

/** What stands behind the title of another version. */
const VERSIONS = [
  "(Live on Late Show)|LIVE @ Brixby|(Spotify Sessions)|(Sped Up Version)|(TikTok Remix)|(Super Slowed)|ultra slowed|(𝙨𝙡𝙤𝙬𝙚𝙙)",
  "(8D)|[16D Audio]|karaoke|Instrumental|(Inst.)|(Rex's Edit)|(Rex Mix)|(Rework)|1 Hour Loop|/ Low Water / Dusk (Medley)|(Parody)",
  "Part 2|II|Pt. 2|2.0|(Extended Version)|(Acoustic)|(Original Demo)|(Reprise)|(Early Take)|(bass boosted)|(Nightcore)|(Piano Cover)",
  "(Lo-Fi)|(A Capella)|(Clean)|(Español)|(Orchestra Version)|(MTV Unplugged)|(Teaser)|[Short Version]|(Christmas Version)",
  "(Behind the Scenes)|(No Vocals)|(Minus One)|(Dolby Atmos)|(fast)|(432Hz)|(Club Edit)|(Tribute)|(Cover)|x Low Water|Type Beat",
].flatMap((line) => line.split("|"));

const OTHERS: readonly (readonly [Side, Side])[] = [
  [HOTEL, ["Crimson Tide Hotel", "Nora Vale", 30]],
  [HOTEL, ["Crimson Tide Hotel", "Nora Vale", 3600]],
  [HOTEL, ["Crimson Tide Hotel", "Nora Vale", 222]],
  [HOTEL, ["Crimson Tide", "Nora Vale", 200]],
  [HOTEL, ["Rex Odom - Crimson Tide Hotel", "Rex Odom", 200]],
  [HOTEL, ["Crimson Tide Hotel - Nora Vale | Rex Odom Cover", "Rex Odom", 200]],
  [HOTEL, ["Rex Odom sings Crimson Tide Hotel by Nora Vale", "Rex Odom", 200]],
  [HOTEL, ["Crimson Tide Hotel (Nora Vale)", "Rex Odom", 200]],
  [HOTEL, ["Crimson Tide Hotel", "Nora Vale Tribute Band", 200]],
  [HOTEL, ["Crimson Tide Hotel", "Vitamin String Ensemble"]],
  [HOTEL, ["Crimson Tide Hotel - Nora Vale (Violin)", "xx", 200]],
  [LIVE, ["Nora Vale - Crimson Tide Hotel (Official Video)", "Nora Vale", 200]],
  [LIVE, ["Crimson Tide Hotel (Live at Lollafest)", "Nora Vale", 200]],
  [REMIX, ["Crimson Tide Hotel (Pax Remix)", "Nora Vale", 200]],
  [REMIX, HOTEL],
  [
    ["By and By", "Nora Vale", 180],
    ["From", "Nora Vale", 180],
  ],
  [
    ["Stay", "Nora Vale", 180],
    ["Nora Vale - Low Water (Stay)", "Nora Vale", 180],
  ],
  [
    ["Stay", "Stay", 180],
    ["Nora Vale - Stay", "Nora Vale", 180],
  ],
  [
    ["星のかけら", "ミナト", 200],
    ["【ピアノ】星のかけら / ミナト", "うた", 201],
  ],
  [
    ["远方的灯", "苏黎", 200],
    ["远方的灯 (抖音版)", "苏黎", 201],
  ],
  [
    ["Синий дом", "Лёд", 200],
    ["Лёд - Синий дом (на гитаре)", "Гитара", 201],
  ],
];

test.each(COPIES)("the song is played from %s by %s", (title, author) => {
  expect(scoreRecording(trackOf(HOTEL), trackOf([title, author, 202])).score).toBeGreaterThan(0);
});

test.each(SAME)("%j is played from %j", (wanted, candidate) => {
  expect(scoreRecording(trackOf(wanted), trackOf(candidate)).score).toBeGreaterThan(0);
});

test.each(VERSIONS)("the song is not played from a title that ends in %s, by any uploader", (end) => {
  const titles = [`Crimson Tide Hotel ${end}`, `Nora Vale - Crimson Tide Hotel ${end}`];
  const candidates = titles.flatMap((title) =>
    ["Nora Vale", "Somebody"].map((author) => trackOf([title, author, 200])),
  );
  expect(candidates.map((candidate) => scoreRecording(trackOf(HOTEL), candidate).score)).toEqual([0, 0, 0, 0]);
});

test.each(OTHERS)("%j is not played from %j", (wanted, candidate) => {
  expect(scoreRecording(trackOf(wanted), trackOf(candidate))).toEqual({ score: 0, reasons: [] });
});

test("the artist's channel and the nearest length come first, then an uploader, then a length that is not known", () => {
  const candidates: Side[] = [
    ["Crimson Tide Hotel", "Nora Vale - Topic", 200],
    ["Nora Vale - Crimson Tide Hotel (Official Video)", "NoraValeVEVO", 203],
    ["Nora Vale - Crimson Tide Hotel", "Somebody", 200],
    ["Nora Vale - Crimson Tide Hotel", "Somebody"],
  ];
  const scores = candidates.map((candidate) => scoreRecording(trackOf(HOTEL), trackOf(candidate)).score);
  expect(scores).toEqual([...new Set(scores)].sort((one, other) => other - one));
});

test("the reasons of a score say what is the same", () => {
  const candidate = trackOf(["Nora Vale - Crimson Tide Hotel", "Kite Records", 202]);
  const { reasons } = scoreRecording(trackOf(HOTEL), candidate);
  expect(reasons).toEqual(["same title", "artist named in the title", "length within 2 s"]);
});

test("an equal ISRC decides, but not of a preview or a loop", () => {
  const withIsrc = (side: Side): ComparedTrack => ({ ...trackOf(side), isrc: "QZABC2600001" });
  const scoreOf = (seconds: number | undefined): number =>
    scoreRecording(withIsrc(HOTEL), withIsrc(["Other", "Somebody", seconds as number])).score;
  expect([200, 250, undefined, 30, 3600].map(scoreOf)).toEqual([1, 1, 1, 0, 0]);
});
