import { describe, expect, test } from "vitest";
import { searchTextOf } from "../../../src/recordings/recording-words.ts";
import { type ComparedTrack, scoreRecording } from "../../../src/recordings/same-recording.ts";
import { fillTemplate, parseTemplate } from "../../../src/recordings/search-template.ts";
import { UNKNOWN_LENGTH_MS } from "../../../src/track/track-details.ts";

function isSameRecording(wanted: ComparedTrack, candidate: ComparedTrack): boolean {
  return scoreRecording(wanted, candidate).score > 0;
}

/** Title, author and seconds. */
type Side = readonly [title: string, author: string, seconds: number];

function trackOf([title, author, seconds]: Side, more: Partial<ComparedTrack> = {}): ComparedTrack {
  return { title, author, length: seconds * 1000, isStream: false, isrc: null, ...more };
}

const SAME: readonly [Side, Side][] = [
  [
    ["Rick Astley - Never Gonna Give You Up (Official Video) (4K Remaster)", "Rick Astley", 213],
    ["Never Gonna Give You Up", "Rick Astley", 212],
  ],
  [
    ["Song", "Artist - Topic", 213],
    ["Artist - Song", "artist-official", 214],
  ],
  [
    ["Adele - Hello (Official Music Video)", "AdeleVEVO", 367],
    ["Hello", "Adele", 365],
  ],
  [
    ["Blinding Lights", "The Weeknd - Topic", 200],
    ["The Weeknd - Blinding Lights (Official Audio)", "TheWeekndVEVO", 202],
  ],
  [
    ["Get Lucky (feat. Pharrell Williams & Nile Rodgers) [Radio Edit]", "Daft Punk - Topic", 248],
    ["Get Lucky", "Daft Punk", 248],
  ],
  [
    ["Alan Walker - Fade [NCS Release]", "NoCopyrightSounds", 260],
    ["Fade", "Alan Walker", 261],
  ],
  [
    ["Queen – Bohemian Rhapsody (Official Video Remastered)", "Queen Official", 359],
    ["Bohemian Rhapsody - 2011 Remaster", "Queen", 354],
  ],
  [
    ["Shallow", "Lady Gaga, Bradley Cooper", 215],
    [
      "Lady Gaga, Bradley Cooper - Shallow (From A Star Is Born) (Official Music Video)".replace(
        " (From A Star Is Born)",
        "",
      ),
      "LadyGagaVEVO",
      217,
    ],
  ],
  [
    ["Simon & Garfunkel - The Sound of Silence (Audio)", "SimonGarfunkelVEVO", 187],
    ["The Sound of Silence", "Simon and Garfunkel", 185],
  ],
  [
    ["Beyoncé - Déjà Vu ft. JAY-Z", "Beyoncé", 240],
    ["Deja Vu", "Beyonce", 240],
  ],
  [
    ["Don't Stop Believin'", "Journey", 250],
    ["Don’t Stop Believin’ (Official Audio)", "journey - Topic", 251],
  ],
  [
    ["Oasis - Live Forever (Official HD Remastered Video)", "Oasis", 277],
    ["Live Forever", "Oasis", 276],
  ],
  [
    ["Live and Let Die", "Paul McCartney & Wings", 193],
    ["Paul McCartney & Wings - Live and Let Die", "PaulMcCartneyVEVO", 192],
  ],
  [
    ["I Alone", "LIVE", 231],
    ["Live - I Alone", "LIVEVEVO", 232],
  ],
  [
    ["Luis Fonsi - Despacito ft. Daddy Yankee", "LuisFonsiVEVO", 282],
    ["Despacito", "Luis Fonsi, Daddy Yankee", 278],
  ],
  [
    ["Ignition (Remix)", "R. Kelly", 188],
    ["R. Kelly - Ignition (Remix) (Official Video)", "RKellyVEVO", 187],
  ],
  [
    ["Symphony No. 5: I. Allegro con brio", "Berliner Philharmoniker", 440],
    ["Symphony No. 5: I. Allegro con brio", "Berliner Philharmoniker, Herbert von Karajan", 436],
  ],
  [
    ["YOASOBI「夜に駆ける」 Official Music Video", "Ayase / YOASOBI", 262],
    ["夜に駆ける", "YOASOBI", 261],
  ],
  [
    ["米津玄師 - Lemon", "Kenshi Yonezu  米津玄師", 275],
    ["Lemon", "米津玄師", 256 + 16],
  ],
  [
    ["Official髭男dism - Pretender［Official Video］", "Official髭男dism", 327],
    ["Pretender", "Official髭男dism", 326],
  ],
  [
    ["周杰倫 Jay Chou【稻香 Rice Field】-Official Music Video", "周杰倫 Jay Chou", 223],
    ["稻香 Rice Field", "周杰倫", 223],
  ],
  [
    ["아이유 - 좋은 날 (뮤직비디오)", "아이유", 236],
    ["좋은 날", "아이유 (IU)", 233],
  ],
  [
    ["Кино - Группа крови", "Виктор Цой и группа Кино", 284],
    ["Группа крови", "Кино", 286],
  ],
  [
    ["Zivert - Life | Премьера клипа", "Zivert", 200],
    ["Life", "Zivert", 198],
  ],
  [
    ["Моё сердце", "Сплин", 249],
    ["Сплин — Мое сердце (Официальный клип)", "Сплин", 250],
  ],
  [
    ["Rammstein - Du Hast (Official 4K Video)", "Rammstein Official", 236],
    ["Du hast", "Rammstein", 234],
  ],
  [
    ["Die Ärzte - Männer sind Schweine", "dieärzteVEVO", 256],
    ["Manner sind Schweine", "die ärzte", 255],
  ],
  [
    ["Σ' αγαπώ", "Μιχάλης Χατζηγιάννης", 240],
    ["Σ' αγαπω (Official Video)", "Μιχαλης Χατζηγιαννης", 241],
  ],
  [
    ["عمرو دياب - تملي معاك", "Amr Diab عمرو دياب", 271],
    ["تملي معاك", "عمرو دياب", 269],
  ],
  [
    ["Tum Hi Ho (तुम ही हो)", "Arijit Singh", 262],
    ["Tum Hi Ho (तुम ही हो) - Full Audio", "Arijit Singh", 262],
  ],
  [
    ["บอดี้สแลม - ยาพิษ", "บอดี้สแลม", 280],
    ["ยาพิษ", "บอดี้สแลม", 279],
  ],
  [
    ["Tiësto - Adagio For Strings (Original Mix)", "Tiësto", 570],
    ["Adagio for Strings", "Tiesto", 560],
  ],
  [
    ["Sigur Rós - Hoppípolla", "sigur rós", 268],
    ["Hoppipolla", "Sigur Ros", 269],
  ],
  [
    ["1979 (Remastered 2012)", "The Smashing Pumpkins", 266],
    ["The Smashing Pumpkins - 1979", "SmashingPumpkinsVEVO", 263],
  ],
  [
    ["Metallica", "Metallica", 300],
    ["Metallica - Metallica", "Metallica", 301],
  ],
];

const MORE_SAME: readonly [Side, Side][] = [
  [
    ["YOASOBI「夜に駆ける」(Racing into the Night)", "Ayase / YOASOBI", 262],
    ["夜に駆ける", "YOASOBI", 261],
  ],
  [
    ["Vicetone - Nevada (feat. Cozi Zuehlsdorff) [Monstercat Release]", "Vicetone", 210],
    ["Nevada", "Vicetone", 209],
  ],
  [
    ['Let It Go (From "Frozen" / Soundtrack)', "Idina Menzel", 224],
    ["Let It Go", "Idina Menzel - Topic", 223],
  ],
];

const DIFFERENT: readonly [Side, Side][] = [
  [
    ["Hello", "Adele", 295],
    ["Hello", "Lionel Richie", 295],
  ],
  [
    ["Hello", "Adele", 295],
    ["Hello Again", "Adele", 295],
  ],
  [
    ["Hurt", "Johnny Cash", 218],
    ["Hurt", "Nine Inch Nails", 218],
  ],
  [
    ["Wonderwall", "Oasis", 258],
    ["Wonderwall (Live at Knebworth)", "Oasis", 258],
  ],
  [
    ["Wonderwall", "Oasis", 258],
    ["Oasis - Wonderwall (Cover by Ann)", "Ann Example", 258],
  ],
  [
    ["Live Forever", "Oasis", 276],
    ["Live Forever - Live", "Oasis", 276],
  ],
  [
    ["Blinding Lights", "The Weeknd", 200],
    ["Blinding Lights (Major Lazer Remix)", "The Weeknd", 201],
  ],
  [
    ["Blinding Lights", "The Weeknd", 200],
    ["The Weeknd - Blinding Lights (Karaoke Version)", "Sing King", 200],
  ],
  [
    ["Blinding Lights", "The Weeknd", 200],
    ["The Weeknd - Blinding Lights (sped up)", "The Weeknd", 198],
  ],
  [
    ["Blinding Lights", "The Weeknd", 200],
    ["Nightcore - Blinding Lights", "The Weeknd Nightcore", 200],
  ],
  [
    ["Blinding Lights", "The Weeknd", 200],
    ["Blinding Lights 8D AUDIO", "The Weeknd", 201],
  ],
  [
    ["Blinding Lights (slowed + reverb)", "The Weeknd", 202],
    ["Blinding Lights", "The Weeknd", 200],
  ],
  [
    ["Love Story", "Taylor Swift", 235],
    ["Love Story (Taylor's Version)", "Taylor Swift", 236],
  ],
  [
    ["Layla", "Eric Clapton", 285],
    ["Layla (Acoustic)", "Eric Clapton", 286],
  ],
  [
    ["Halo", "Beyoncé", 261],
    ["Beyoncé - Halo (Instrumental)", "Beyoncé", 261],
  ],
  [
    ["One More Time", "Daft Punk", 320],
    ["One More Time", "Daft Punk", 235],
  ],
  [
    ["Blinding Lights", "The Weeknd", 200],
    ["Blinding Lights", "The Weeknd", 30],
  ],
  [
    ["Symphony No. 5", "Berliner Philharmoniker", 1900],
    ["Symphony No. 9", "Berliner Philharmoniker", 1910],
  ],
  [
    ["Shine On You Crazy Diamond, Part II of the suite", "Pink Floyd", 400],
    ["Shine On You Crazy Diamond, Part III of the suite", "Pink Floyd", 400],
  ],
  [
    ["All You Need Is Love", "The Beatles", 230],
    ["All You Need Is", "Love", 230],
  ],
  [
    ["夜に駆ける", "YOASOBI", 261],
    ["YOASOBI「夜に駆ける」歌ってみた", "誰か", 261],
  ],
  [
    ["夜に駆ける", "YOASOBI", 261],
    ["YOASOBI - 夜に駆ける / THE FIRST TAKE", "THE FIRST TAKE", 262],
  ],
  [
    ["夜に駆ける", "YOASOBI", 261],
    ["夜に駆ける カラオケ", "YOASOBI", 261],
  ],
  [
    ["稻香", "周杰倫", 223],
    ["稻香 (现场)", "周杰倫", 225],
  ],
  [
    ["稻香", "周杰倫", 223],
    ["晴天", "周杰倫", 223],
  ],
  [
    ["좋은 날", "아이유", 233],
    ["아이유 - 좋은 날 (커버)", "누군가", 233],
  ],
  [
    ["Группа крови", "Кино", 286],
    ["Кино - Группа крови (кавер)", "Кавер Бэнд", 286],
  ],
  [
    ["Группа крови", "Кино", 286],
    ["Кино - Группа крови (живой концерт)", "Кино", 288],
  ],
  [
    ["La Bamba", "Los Lobos", 174],
    ["La Bamba (En Vivo)", "Los Lobos", 175],
  ],
  [
    ["Despacito", "Luis Fonsi", 229],
    ["Despacito", "Luis Fonsi Tribute", 229],
  ],
  [
    ["Hotel California", "Eagles", 391],
    ["Hotel California", "John Smith", 391],
  ],
  [
    ["Angel", "John Smith", 200],
    ["Angel", "John Doe", 200],
  ],
  [
    ["Let It Go (From Frozen)", "Idina Menzel", 224],
    ["Let It Go (Spanish)", "Idina Menzel", 224],
  ],
  [
    ["周杰倫 Jay Chou (晴天) Official MV", "周杰倫 Jay Chou", 223],
    ["周杰倫 Jay Chou (稻香) Official MV", "周杰倫 Jay Chou", 223],
  ],
  [
    ["Song (Part 1)", "Artist", 200],
    ["Song (Part 2)", "Artist", 200],
  ],
  [
    ["", "", 200],
    ["", "", 200],
  ],
];

test.each([...SAME, ...MORE_SAME])("these are the same recording, either way round: %j and %j", (one, other) => {
  expect([isSameRecording(trackOf(one), trackOf(other)), isSameRecording(trackOf(other), trackOf(one))]).toEqual([
    true,
    true,
  ]);
});

test.each(DIFFERENT)("these are not the same recording, either way round: %j and %j", (one, other) => {
  expect([isSameRecording(trackOf(one), trackOf(other)), isSameRecording(trackOf(other), trackOf(one))]).toEqual([
    false,
    false,
  ]);
});

describe("beside title, artist and length", () => {
  const song: Side = ["Song", "Artist", 213];

  test("an equal ISRC decides, however it is written", () => {
    const [one, other] = [
      trackOf(song, { isrc: "GB-ARL-93-00135" }),
      trackOf(["X", "Y", 180], { isrc: "gbarl9300135" }),
    ];
    expect(isSameRecording(one, other)).toBe(true);
    expect(isSameRecording({ ...one, isrc: "none" }, { ...other, isrc: "none" })).toBe(false);
  });

  test("different ISRCs do not decide: one recording has several", () => {
    expect(isSameRecording(trackOf(song, { isrc: "GBARL9300135" }), trackOf(song, { isrc: "USRC17607839" }))).toBe(
      true,
    );
  });

  test("an unknown length is accepted only with an equal title", () => {
    const unknown = { length: UNKNOWN_LENGTH_MS };
    const long: Side = ["Five Words Of A Song", "Artist", 213];
    expect(isSameRecording(trackOf(long), trackOf(long, unknown))).toBe(true);
    expect(isSameRecording(trackOf(long), trackOf(["Five Words Of A Song Album", "Artist", 213]))).toBe(true);
    expect(isSameRecording(trackOf(long), trackOf(["Five Words Of A Song Album", "Artist", 213], unknown))).toBe(false);
    expect(isSameRecording(trackOf(song), trackOf(song, { length: Number(UNKNOWN_LENGTH_MS) }))).toBe(true);
  });

  test("a stream is no recording", () => {
    expect(isSameRecording(trackOf(song), trackOf(song, { isStream: true }))).toBe(false);
  });

  test("lengths may differ by five seconds, or by 3 % of a long track", () => {
    const lengths: [number, number][] = [
      [100, 105],
      [100, 106],
      [1000, 1029],
      [1000, 1032],
    ];
    expect(lengths.map(([a, b]) => isSameRecording(trackOf(["S", "A", a]), trackOf(["S", "A", b])))).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });
});

test.each([
  [
    "Rick Astley - Never Gonna Give You Up (Official Video) (4K Remaster)",
    "Rick Astley",
    "rick astley never gonna give you up",
  ],
  ["Song", "Artist - Topic", "artist song"],
  ["Get Lucky (feat. Pharrell Williams) [Radio Edit]", "DaftPunkVEVO", "daftpunk get lucky"],
  ["YOASOBI「夜に駆ける」 Official Music Video", "YOASOBI", "yoasobi 夜に駆ける"],
  ["Wonderwall (Live at Knebworth)", "Oasis", "oasis wonderwall live at knebworth"],
  ["Моё сердце (Официальный клип)", "Сплин", "сплин мое сердце"],
  ["Чёрный бумер", "Серёга", "серега черный бумер"],
  ["مُحَمَّـد", "فَيْرُوز", "فيروز محمد"],
  ["שָׁלוֹם־עַל", "זָמָר", "זמר שלום על"],
  ["?", "XXXTENTACION", "xxxtentacion ?"],
  [" 💔 ", "Artist", "artist 💔"],
  ["÷ (Official Video)", "Ed Sheeran", "ed sheeran ÷"],
  ["? ".repeat(300), "", "?".repeat(100)],
  [`?${"💔".repeat(300)}`, "", `?${"💔".repeat(49)}`],
  ["💔".repeat(300), "a".repeat(99), `${"a".repeat(99)} ${"💔".repeat(50)}`],
])("%s by %s is searched for as %s", (title, author, text) => {
  expect(searchTextOf({ title, author })).toBe(text);
});

test.each([
  ["?", "？", true],
  ["?", "÷", false],
  ["♥", "♥️", true],
  ["♥️", "💔️", false],
  ["( )", "[ ]", false],
  ["♪", "♪", true],
  ["♪", "|", false],
  ["÷", "Artist - ÷ (Official Video)", true],
  ["÷ (Official Video)", "÷", true],
  ["÷ (Official Video)", "♥ (Official Video)", false],
  ["÷", 'Artist "÷"', true],
  ["÷", "Artist - ÷ - Perfect", false],
  ["÷", "Artist - Perfect", false],
  ["÷", "Artist", false],
  ["÷ (Live)", "÷ (Live)", true],
  ["÷", "÷ (Live)", false],
  ["Song", "Song ♥ | 🔥", true],
])("a title without words is its signs: %s and %s are the same: %s", (one, other, isSame) => {
  expect(isSameRecording(trackOf([one, "Artist", 200]), trackOf([other, "Artist", 200]))).toBe(isSame);
  expect(isSameRecording(trackOf([other, "Artist", 200]), trackOf([one, "Artist", 200]))).toBe(isSame);
});

test.each([
  ["حَبِيبِي", "حبيبي", "عمرو دياب", "عَمْرو دياب"],
  ["حـبـيـبـي", "حبيبي", "فيروز", "فيروز"],
  ["رحمٰن", "رحمن", "فيروز", "فيروز"],
  ["שָׁלוֹם", "שלום", "זָמָר", "זמר"],
  ["\ufb2aלום", "שלום", "זמר", "זמר"],
])("vowel marks do not make another recording: %s and %s", (one, other, author, otherAuthor) => {
  expect(isSameRecording(trackOf([one, author, 200]), trackOf([other, otherAuthor, 200]))).toBe(true);
});

test("signs are searched for as a title, too", () => {
  const info = { title: "÷", author: "Artist", isrc: null };
  const template = parseTemplate("scsearch:%AUTHOR% %TITLE%")!;
  expect(fillTemplate(template, { info, album: undefined })).toBe("scsearch:Artist ÷");
});

test("an artist who is not known is nobody: neither searched for nor equal to another such one", () => {
  for (const author of ["Unknown artist", "unknown", "<unknown>", " Unknown Artist ", ""]) {
    const common = { length: 200_000, isStream: false, isrc: null };
    const wanted = { ...common, title: "Daft Punk - Aerodynamic", author };
    expect(searchTextOf(wanted)).toBe("daft punk aerodynamic");
    const score = (other: { title: string; author: string }) => scoreRecording(wanted, { ...common, ...other }).score;
    expect(score({ title: "Aerodynamic", author: "Daft Punk" })).toBeGreaterThan(0);
    expect(score({ title: "Aerodynamic", author: "Other" })).toBe(0);
    expect(score({ title: wanted.title, author })).toBe(0);
    const template = parseTemplate("scsearch:%TITLE% %AUTHOR%")!;
    expect(fillTemplate(template, { info: wanted, album: undefined })).toBe("scsearch:Daft Punk - Aerodynamic");
  }
});
