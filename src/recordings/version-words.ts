// Words of titles and uploaders, as data: what makes another version of a recording, and what says nothing about it.
// Any thread; in plain text (lower case, without accents of Latin letters), see recording-words.ts.

/** By kind of version, so that two names of one kind are equal marks: `Live` and `En Vivo`. `_` stands for a space. */
export const VERSIONS: Readonly<Record<string, string>> = {
  live:
    "live vivo directo dal_vivo en_direct concert concierto concerto konzert koncert canli zywo na_zywo ao_vivo nazivo uzivo " +
    "концерт живой живое вживую live版 tiny_desk first_take the_first_take colors_show mtv festival 现场 現場 演唱会 演唱會 ライブ 라이브 現場版",
  session: "session sessions kexp broadcast",
  cover:
    "cover covers covered coverversion coverband кавер covering 翻唱 翻自 カバー 커버 歌ってみた 弾いてみた 叩いてみた 踊ってみた " +
    "originally_by originally_performed made_famous famous_by in_the_style style_of performed_by performs_by",
  tribute: "tribute homage homenaje salute_to",
  remix:
    "remix remixed rmx remezcla ремикс リミックス 리믹스 bootleg flip rework reworked refix dj版 vip dub club hardstyle phonk " +
    "techno trance dubstep dnb drum_and_bass amapiano jersey_club hypertechno eurodance",
  mashup: "mashup mash_up versus vs",
  medley:
    "medley megamix nonstop non_stop potpourri mixtape dj_set full_set full_album full_concert greatest_hits best_of compilation playlist",
  extended: "extended 12_inch 12inch long_version full_length_version",
  karaoke: "karaoke караоке カラオケ 노래방 sing_along singalong 伴奏 ktv",
  instrumental:
    "instrumental instrumentals instrumentale instru inst минус минусовка инструментал minus minus_one backing backingtrack " +
    "without_vocals no_vocals vocals_removed playback off_vocal 纯音乐 純音樂 インスト",
  vocals: "acapella acappella cappella capella a_cappella a_capella vocals_only vocal_only isolated_vocals",
  acoustic:
    "acoustic acustico acustica acoustique akustik akustisk akoestisk akusticka акустика акустическая アコースティック 어쿠스틱 不插电",
  unplugged: "unplugged stripped stripped_down",
  orchestral: "orchestral orchestra orchester symphonic sinfonica strings string_quartet philharmonic",
  piano: "piano klavier пианино 钢琴 鋼琴 ピアノ 피아노",
  guitar: "guitar guitarra gitarre гитаре ギター",
  drums: "drum drumcam drums drumless",
  music_box:
    "music_box musicbox オルゴール lullaby lullabies kids kinder children chipmunk chipmunks 8bit 8_bit 16_bit chiptune midi",
  nightcore: "nightcore nightstep daycore",
  sped: "sped spedup sped_up speed_up speedup speeded faster fast fast_version speed ускоренная ускоренный 加速 加速版 倍速",
  slowed: "slowed slowedreverb slow slowdown reverb замедленная замедленный chopped screwed 降调 减速",
  pitched:
    "pitched pitch_shifted high_pitched deep_voice male_version female_version 432 432hz 432_hz reversed backwards",
  spatial: "8d 16d 3d 9d 360 dolby atmos",
  bass: "boosted bassboosted bass_boosted bass_boost subwoofer",
  lofi: "lofi lo_fi muffled underwater bathroom in_another_room",
  demo: "demo demos demoversion rehearsal outtake take unreleased early_version alternate alternative home_recording",
  reprise: "reprise interlude",
  intro: "intro outro",
  part_of:
    "snippet teaser trailer preview clipped ringtone ringtones tv_size tv_ver short_version excerpt tiktok sneak_peek",
  loop: "loop loops looped hour hours hrs minutes heure heures stunden часов час",
  parody: "parody parodia parodie parodija пародия ytp meme",
  talk:
    "reaction reacts reacting react review tutorial lesson how_to explained story_behind behind_scenes behind_the_scenes making_of interview type_beat roblox " +
    "choreography fancam dance_practice разбор unboxing meaning_of",
  new_take:
    "reimagined rerecorded re_recorded performance performs performing rendition reinterpretation revisited redux",
  clean: "clean censored clean_version",
  version: "版 version versions versione versao versiya версия ver mix edit mixed re_edit",
  english: "english englisch ingles",
  spanish: "spanish espanol spanglish salsa bachata cumbia",
  german: "german deutsch",
  french: "french francais",
  italian: "italian italiano",
  portuguese: "portuguese portugues",
  russian: "russian русская",
  japanese: "japanese japonais",
  korean: "korean",
  chinese: "chinese mandarin cantonese",
};

/** Together they say nothing, one by one they might. */
export const EMPTY_PHRASES: readonly RegExp[] = [
  /\b(?:digital )?(?:remaster(?:ed)?|remasterizad[oa]|remasterisee?)(?: version| edition)?(?: in)? (?:19|20)\d\d\b(?: version)?/g,
  /(?:^|(?<=\S ))(?:19|20)\d\d (?:digital )?remaster(?:ed)?(?: version)?\b/g,
  /\b(?:free|out) (?:download|dl|now)\b/g,
  /\b(?:premiera klipa|with lyrics|bonus track|album track|full song|full audio|full video|full hd|copyright free|no copyright|radio premiere)\b/g,
  /\b(?:eng(?:lish)?|spanish|german) (?:sub|subs|subtitles|subbed|lyrics?|translation)\b/g,
  /\b(?:sub|subs|subtitulad[oa]s?|letra|lyrics?|traduccion|translation|paroles)(?: (?:al|en|in|e|y|and))* (?:espanol|english|ingles|eng|deutsch|francais|portugues)\b/g,
  /\b(?:original|album|original album|main|lp|explicit|uncensored|standard|deluxe|stereo|anniversary) (?:mix|version|edit|edition)\b/g,
  /\bprod(?:uced)? by\b.*$/g,
  /\bprod \S+(?: \S+)?$/g,
  /\bm v\b/g,
  /\bncs release\b/g,
  /\blive on (?:youtube|spotify)\b/g,
];

/** One cut of a recording among several: equal where the lengths are. */
export const EDITION_PHRASES =
  /\b(?:single|radio|video|full|7 inch|original single) (?:mix|version|edit)\b|\bmono(?: version)?$/g;

export const EMPTY_WORDS =
  "the and official officiel officielle oficial ufficiale offizielles offizieller offiziell oficjalny oficjalna resmi video videos videoclip " +
  "videoklip clip clipe klipi musicvideo musikvideo music audio lyric lyrics lyricvideo letra paroles tekst testo liedtext visualizer visualiser " +
  "visual mv pv hd hq uhd fhd 4k 8k 2k 1080p 720p 60fps explicit remastered remaster klip teledysk officialvideo officialaudio " +
  "deluxe vietsub engsub subtitles subtitulado subtitulada legendado sub subs ost soundtrack премьера клип клипа песни трека сингла официальный официальное видео аудио текст " +
  "公式 官方 官方mv 高清 官方高清 歌詞 歌词 動態歌詞 动态歌词 完整版 가사 뮤직비디오 공식";

/** What an uploader's name has beside the artist. */
export const EMPTY_ARTIST_WORDS =
  "topic vevo official oficial officiel offiziell music musica channel tv 公式 官方 the and y und et";

/** Words of a label's or a collector's name: their channels put the artist into the title. */
export const LABEL_WORDS =
  "records recordings recording label labels music musik musica sounds sound release releases nation network entertainment " +
  "media house collective production productions promo channel tv radio audio label studio studios publishing vault";
