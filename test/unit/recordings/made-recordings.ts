// 200 made-up recordings as music services name them, each with what four sites find for it: mostly other versions, other
// songs and other artists, in every order.

import { seededRandom } from "../../../lab/seeded-random.ts";
import type { ComparedTrack } from "../../../src/recordings/same-recording.ts";
import { UNKNOWN_LENGTH_MS } from "../../../src/track/track-details.ts";
import { FROM_OTHERS, LABELS, LONG, type MadeScene, PEOPLE, SCENES } from "./made-names.ts";

export interface MadeCandidate {
  readonly track: ComparedTrack;
  readonly isRight: boolean;
}

export interface MadeRecording {
  readonly wanted: ComparedTrack;
  /** What each site finds, in the order in which the sites are asked. */
  readonly found: readonly (readonly MadeCandidate[])[];
}

const COUNT = 200;
const ABSENT_SHARE = 0.15;
const RESULTS_MAX = 10;
const SITES = ["music", "video", "cloud", "camp"] as const;
type Site = (typeof SITES)[number];

/** How services write a title, and how sites write that of the same recording. */
const FORMS: readonly { wanted: string; right: readonly string[]; isVersion?: boolean; guest?: boolean }[] = [
  ...Array.from({ length: 12 }, () => ({ wanted: "T", right: ["T"] })),
  { wanted: "T - Remastered 2011", right: ["T", "T (Remastered 2011)", "T (2011 Remaster)", "T (Remastered)"] },
  { wanted: "T - 2009 Remaster", right: ["T", "T (2009 Remaster)", "T [Remastered]"] },
  { wanted: 'T - From "The Glass Orchard"', right: ["T", 'T (From "The Glass Orchard")', "T (The Glass Orchard OST)"] },
  { wanted: "T (feat. X)", right: ["T", "T (feat. X)", "T ft. X", "T feat. X", "T (ft. X)"], guest: true },
  { wanted: "T (with X)", right: ["T", "T (with X)", "T (feat. X)"], guest: true },
  { wanted: "T - Radio Edit", right: ["T (Radio Edit)", "T [Radio Edit]"] },
  { wanted: "T - Single Version", right: ["T", "T (Single Version)"] },
  { wanted: "T - Live at the Corvane Hall", right: ["T (Live at the Corvane Hall)", "T (Live)"], isVersion: true },
  { wanted: "T - Live", right: ["T (Live)", "T - Live"], isVersion: true },
  { wanted: "T - Acoustic", right: ["T (Acoustic)", "T (Acoustic Version)", "T [Acoustic]"], isVersion: true },
  { wanted: "T - DJ Fenwick Remix", right: ["T (DJ Fenwick Remix)", "T [DJ Fenwick Remix]"], isVersion: true },
  { wanted: "T - Instrumental", right: ["T (Instrumental)", "T [Instrumental]"], isVersion: true },
  { wanted: "T - Sped Up", right: ["T (Sped Up)", "T - Sped Up", "T (sped up version)"], isVersion: true },
  { wanted: "T - Extended Mix", right: ["T (Extended Mix)", "T [Extended Mix]"], isVersion: true },
  { wanted: "T, Pt. 2", right: ["T, Pt. 2", "T (Part 2)", "T Pt. II"], isVersion: true },
];

class Maker {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  recording(index: number): MadeRecording {
    const scene = SCENES[index % 2 === 0 ? 0 : 1 + Math.floor(this.#random() * (SCENES.length - 1))]!;
    const [artist, [title, translation]] = [this.#pick(scene.artists), this.#pick(scene.songs)];
    const form = this.#pick(FORMS);
    const guest = this.#pick(PEOPLE);
    const seconds = 120 + Math.floor(this.#random() * 220);
    const song = { scene, artist, title, translation, form, guest, seconds };
    const isAbsent = index % Math.round(1 / ABSENT_SHARE) === 3;
    const home = Math.floor(this.#random() * SITES.length);
    const found = SITES.map((site, at) => {
      const has = !isAbsent && (at === home || this.#isOne(0.4));
      return this.#resultsOf(site, song, has);
    });
    const joined = form.guest === true && this.#isOne(0.5) ? `${artist},\u00a0${guest}` : artist;
    const wantedTitle = fill(form.wanted, { T: title, X: guest });
    return { wanted: trackOf(wantedTitle, this.#isOne(0.1) ? `${artist}, ${guest}` : joined, seconds), found };
  }

  #resultsOf(site: Site, song: Song, has: boolean): MadeCandidate[] {
    const others = Array.from({ length: 3 + Math.floor(this.#random() * 6) }, () => this.#other(site, song));
    const right = has ? Array.from({ length: this.#isOne(0.3) ? 2 : 1 }, () => this.#right(site, song)) : [];
    return this.#shuffled([
      ...right.map((track) => ({ track, isRight: true })),
      ...others.map((track) => ({ track, isRight: false })),
    ]).slice(0, RESULTS_MAX);
  }

  #right(site: Site, { scene, artist, title, translation, form, guest, seconds }: Song): ComparedTrack {
    const shown = translation !== undefined && this.#isOne(0.4) ? `${title} (${translation})` : title;
    const written = fill(this.#pick(form.right), { T: shown, X: guest });
    const length = site === "camp" ? undefined : seconds + this.#pick([-3, -2, -1, -1, 0, 0, 0, 0, 1, 1, 2, 3, 4]);
    if (site === "music") return trackOf(written, this.#pick([artist, artist, `${artist} - Topic`]), length);
    if (site === "camp") {
      const byLabel = this.#isOne(0.2);
      return trackOf(byLabel ? `${artist} - ${written}` : written, byLabel ? this.#pick(LABELS) : artist, length);
    }
    if (site === "video" && this.#isOne(0.25)) return trackOf(written, `${artist} - Topic`, length);
    const end = this.#pick(scene.official).replace("#", "");
    const wholes = [
      ...["A - T E", "A - T E", "A – T E", "A — T E", "A-T E", "A: T E", 'A "T" E', "A | T | E", "T - A E", "T by A E"],
      ...["A「T」E", "【MV】T / A", "A 'T' E", "a - t e"],
    ];
    const whole = this.#pick(site === "video" ? wholes : ["A - T E", "A - T", "T E"]);
    const cased = whole === "a - t e" ? "A - T E" : whole;
    const filled = fill(cased, { T: written, A: artist, E: end });
    const named = whole === "T E" ? this.#channelOf(artist) : this.#pick([this.#channelOf(artist), this.#pick(LABELS)]);
    return trackOf(whole === "a - t e" ? filled.toLowerCase() : filled, named, length);
  }

  /** As the artist's own channel is named. */
  #channelOf(artist: string): string {
    const joined = artist.replaceAll(/[^\p{L}\p{N}\p{M}]/gu, "");
    const plain = artist
      .normalize("NFD")
      .replaceAll(/(?<=[a-z])[\u0300-\u036f]/gi, "")
      .normalize("NFC")
      .toLowerCase();
    const channels = [artist, artist, `${artist} Official`, `${joined}VEVO`, `${artist} Music`, plain];
    return this.#pick([...channels, `${joined}Official`, `Official ${artist}`]);
  }

  #other(site: Site, song: Song): ComparedTrack {
    const { scene, artist, title, form, seconds } = song;
    const near = seconds + Math.round(this.#random() * 4 - 2);
    const far = Math.round(seconds * (1.15 + this.#random() * 0.5)) + 12;
    const length = this.#isOne(0.5) ? near : far;
    const someone = this.#pick([...PEOPLE, "Karaoke Meadow", "Cover Nation Duo", "The Lullaby Lane Players"]);
    const by = (whole: string, author: string, seconds: number): ComparedTrack =>
      trackOf(fill(whole, { T: title, A: artist, X: someone }), author, site === "camp" ? undefined : seconds);
    const otherSong = this.#pick(scene.songs.filter(([name]) => name !== title))[0];
    const otherArtist = this.#pick(scene.artists.filter((name) => name !== artist));
    const kinds: readonly (() => ComparedTrack)[] = [
      () => by(this.#versionOf(song), this.#pick([artist, this.#channelOf(artist), someone, "Lush Uploads"]), length),
      () => by(this.#versionOf(song), this.#pick([artist, `${artist} - Topic`, "Midnight Sounds"]), near),
      () => by(this.#pick(FROM_OTHERS), someone, length),
      () => by("T", this.#pick([otherArtist, `${otherArtist} - Topic`]), near),
      () => trackOf(`${otherArtist} - ${title} (Official Video)`, otherArtist, site === "camp" ? undefined : length),
      () => trackOf(otherSong, artist, site === "camp" ? undefined : near),
      () => trackOf(`${artist} - ${otherSong} (Official Video)`, artist, site === "camp" ? undefined : length),
      () => trackOf(`${otherArtist} - ${otherSong}`, otherArtist, site === "camp" ? undefined : near),
      ...(site === "camp"
        ? []
        : [
            () => by(this.#pick(["T", "A - T", "A - T (Official Video)"]), this.#channelOf(artist), 30),
            () => by(this.#pick(["T", "A - T"]), this.#pick([artist, `${artist} - Topic`]), 30),
            () => by(this.#pick(LONG), this.#pick([artist, someone]), 3600 * (1 + Math.floor(this.#random() * 4))),
            () => by(this.#pick(["T", "A - T (Official Video)"]), artist, seconds + this.#pick([-40, -22, 19, 22, 35])),
          ]),
      // A version is wanted, and sites have the song itself.
      ...(form.isVersion === true
        ? [
            () => by("T", this.#pick([artist, `${artist} - Topic`]), near),
            () => by("A - T (Official Video)", this.#channelOf(artist), length),
          ]
        : []),
    ];
    return this.#pick(kinds)();
  }

  /** Another version than the wanted. */
  #versionOf({ scene, form }: Song): string {
    const kind = /Live|Acoustic|Instrumental|Sped Up|Extended|Pt\. 2/.exec(form.wanted)?.[0];
    const own: Readonly<Record<string, RegExp>> = {
      Live: /live|concert|session|vivo|directo|Canlı|żywo|ライブ|라이브|现场|концерт/i,
      Acoustic: /acoust|acúst|akustik|unplugged|stripped|акустика/i,
      Instrumental: /inst/i,
      "Sped Up": /sped|speed|加速/i,
      Extended: /extended/i,
      "Pt. 2": /pt\.|part| 2/i,
    };
    const isOwn = kind === undefined ? undefined : own[kind];
    return this.#pick(scene.versions.filter((version) => isOwn?.test(version) !== true));
  }

  #isOne(share: number): boolean {
    return this.#random() < share;
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)]!;
  }

  #shuffled<T>(values: readonly T[]): T[] {
    const drawn = values.map((value) => [this.#random(), value] as const);
    return drawn.sort(([one], [other]) => one - other).map(([, value]) => value);
  }
}

interface Song {
  readonly scene: MadeScene;
  readonly artist: string;
  readonly title: string;
  readonly translation: string | undefined;
  readonly form: (typeof FORMS)[number];
  readonly guest: string;
  readonly seconds: number;
}

/** Replaces the single letters of a pattern: `A` artist, `T` title, `X` somebody else, `E` the end of a title. */
function fill(pattern: string, words: Readonly<Record<string, string>>): string {
  return pattern
    .replaceAll(/(?<![\p{L}\p{N}])(?<!\p{L}['’])[ATXE](?!['’]?[\p{L}\p{N}])/gu, (it) => words[it] ?? it)
    .trim();
}

function trackOf(title: string, author: string, seconds: number | undefined): ComparedTrack {
  const length = seconds === undefined ? UNKNOWN_LENGTH_MS : seconds * 1000;
  return { title, author, length, isStream: false, isrc: null };
}

export function makeRecordings(seed: number): readonly MadeRecording[] {
  const maker = new Maker(seed);
  return Array.from({ length: COUNT }, (_, index) => maker.recording(index));
}
