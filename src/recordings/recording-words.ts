// The words of titles and artists as sites write them, without what says nothing about the recording ("Official
// Video", "- Topic", "feat. …"). Any thread; used by same-recording.ts and for the text of a search.

/** Characters of a title or an artist that are read. */
const TEXT_LENGTH_MAX = 300;
const SEARCH_LENGTH_MAX = 200;
/** Letters that do not come apart into a base letter and an accent. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  ł: "l",
  đ: "d",
  ı: "i",
  þ: "th",
  ё: "е",
};
const FEATURING =
  /(?:^|[\s([{])(?:feat|ft|featuring|con la participación de|при участии)(?:\.\s*|\s+)([^)\]}|]*?)(?=\s[-–—|]\s|[)\]}|]|$)/giu;
const SEPARATORS = /\s[-–—~:|/]+\s|\s*[|「」『』【】〈〉《》“”„"／｜]\s*|:\s/u;

/** Together they say nothing, one by one they might. */
const EMPTY_PHRASES = [
  /\b(?:original|album|single|radio|explicit|clean|main) (?:mix|version|edit)\b/g,
  /\b(?:digital )?remaster(?:ed)?(?: version)? (?:19|20)\d\d\b/g,
  /(?<=\S )(?:19|20)\d\d (?:digital )?remaster(?:ed)?\b/g,
  /\b(?:free|out) (?:download|dl|now)\b/g,
  /\bwith lyrics\b/g,
  /\bprod(?:uced)? by\b.*$/g,
  /\bprod \S+$/g,
  /\bm v\b/g,
  /\bncs release\b/g,
];
const EMPTY_WORDS = wordSet(
  "the and official officiel officielle oficial ufficiale offizielles offizieller offiziell video videoclip videoklip clip " +
    "musikvideo music audio lyric lyrics letra paroles visualizer visualiser mv hd hq uhd 4k 8k 1080p 720p explicit " +
    "remastered remaster klip teledysk officialvideo премьера клип клипа песни трека официальный официальное видео " +
    "аудио текст 公式 官方 官方mv 高清 歌詞 歌词 動態歌詞 动态歌词 完整版 가사 뮤직비디오 공식",
);
/** What an uploader's name has beside the artist. */
const EMPTY_ARTIST_WORDS = wordSet(
  "topic vevo official oficial officiel music musik musica channel tv 公式 官方 the and y und et",
);

/** Words of a title that make another recording of it. */
export const VERSION_WORDS = wordSet(
  "live vivo directo concert concierto cover covers covered remix remixed rmx mix bootleg mashup flip rework reworked edit extended " +
    "karaoke instrumental instrumentals acoustic acústico acustico acustica unplugged acapella cappella orchestral symphonic piano " +
    "nightcore daycore sped speed slowed reverb 8d 16d lofi chopped boosted bassboosted demo rehearsal session sessions " +
    "tribute parody reaction medley megamix version versión versione versao reprise interlude intro outro " +
    "snippet teaser trailer preview loop loops hour hours minus backing tutorial lesson dub vip stripped reimagined " +
    "rerecorded performance choreography fancam lullaby " +
    "ver english spanish español german deutsch french italian russian japanese korean chinese " +
    "кавер ремикс караоке минус минусовка концерт живой вживую ускоренная ускоренный замедленная инструментал акустика " +
    "カバー ライブ カラオケ 翻唱 现场 現場 伴奏 커버 라이브 노래방 리믹스 inst",
);
/** The same in scripts that do not divide words, and as several words. */
const VERSION_PHRASES =
  /歌ってみた|弾いてみた|叩いてみた|踊ってみた|カバー|ライブ|カラオケ|リミックス|翻唱|翻自|现场|現場|演唱会|演唱會|伴奏|纯音乐|純音樂|加速版|降调|커버|라이브|노래방|리믹스|lo fi|minus one|music box|first take|dance practice|mtv|tiny desk|speed up|ao vivo/g;

/** In lower case, without accents of Latin and Greek letters, in one form of each character. */
function plainText(text: string, lengthMax = TEXT_LENGTH_MAX): string {
  return text
    .slice(0, lengthMax)
    .toLowerCase()
    .normalize("NFKD")
    .replaceAll(/(?<=[\p{Script=Latin}\p{Script=Greek}])[\u0300-\u036f]+/gu, "")
    .normalize("NFC")
    .replaceAll(/[ßæœøłđıþё]/g, (letter) => LETTERS[letter] ?? letter)
    .replaceAll(/['’‘`´ʼ]/g, "")
    .replaceAll("&", " and ");
}

function wordSet(words: string): ReadonlySet<string> {
  return new Set(wordsIn(plainText(words, Number.POSITIVE_INFINITY)));
}

function wordsIn(plain: string): string[] {
  return plain.match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
}

/** Without the artists who are featured. */
function withoutFeatured(title: string): string {
  return title.slice(0, TEXT_LENGTH_MAX).replaceAll(FEATURING, " ");
}

/** Without what stands in brackets: another name, a film, a label. */
export function withoutBrackets(title: string): string {
  return title.slice(0, TEXT_LENGTH_MAX).replaceAll(/[([（［][^()[\]（）［］]*[)\]）］]/g, " ");
}

/** The words of a title, without those that say nothing; all where nothing would be left. */
export function titleWordsOf(title: string): readonly string[] {
  const all = wordsIn(plainText(withoutFeatured(title)));
  const text = EMPTY_PHRASES.reduce((rest, phrase) => rest.replaceAll(phrase, " "), all.join(" "));
  const words = wordsIn(text).filter((word) => !EMPTY_WORDS.has(word));
  return words.length > 0 ? words : all;
}

/** The parts of a title between dashes, bars and quotation marks, as words. */
export function segmentsOf(title: string): readonly (readonly string[])[] {
  return withoutFeatured(title)
    .split(SEPARATORS)
    .map((part) => wordsIn(plainText(part)))
    .filter((words) => words.length > 0);
}

/** The words of the artists that a title says are featured. */
export function featuredWordsOf(title: string): readonly string[] {
  const found = title.slice(0, TEXT_LENGTH_MAX).matchAll(FEATURING);
  return Array.from(found, ([, names = ""]) => names).flatMap(artistWordsOf);
}

/** The words of an artist or uploader; all where nothing would be left. */
export function artistWordsOf(author: string): readonly string[] {
  const all = wordsIn(plainText(author)).map((word) => word.replace(/(?<=.)(?:vevo|official)$/, ""));
  const words = all.filter((word) => !EMPTY_ARTIST_WORDS.has(word));
  return words.length > 0 ? words : all;
}

/** The names of the artists, each in one piece: sites write `Daft Punk` and `DaftPunkVEVO`. */
export function joinedNamesOf(author: string): readonly string[] {
  return author
    .slice(0, TEXT_LENGTH_MAX)
    .split(/[,;&/]| x | feat\.? /i)
    .map((name) => artistWordsOf(name).join(""))
    .map((name) => name.replace(/^the(?=.{3})/, "").replace(/(?<=.{3})(?:music|channel|tv)$/, ""))
    .filter((name) => name !== "");
}

/** What a title says of the version, in one order; the words of the artists' names do not count. */
export function versionMarksOf(title: string, names: readonly string[]): string {
  const words = titleWordsOf(title);
  const phrases = words.join(" ").match(VERSION_PHRASES) ?? [];
  const marks = words.filter((word) => VERSION_WORDS.has(word) && !names.includes(word));
  return [...new Set(phrases), ...marks].sort().join(" ");
}

/** What to search for: artist and title, once each. At most 200 characters. */
export function searchTextOf({ title, author }: { readonly title: string; readonly author: string }): string {
  const artist = artistWordsOf(author);
  const words = titleWordsOf(title);
  const missing = artist.filter((word) => !words.includes(word));
  return [...missing, ...words].join(" ").slice(0, SEARCH_LENGTH_MAX).trim();
}
