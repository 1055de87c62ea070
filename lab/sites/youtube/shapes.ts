// Videos and lists in the shapes in which YouTube answers them, with made-up content (fact sheet, section 3, read there
// in youtube-source 158726d, yt-dlp 81ecd58 and YouTube.js acc908a; nothing was tried against YouTube). Runs in the
// fake server's process.

export interface ListedVideo {
  readonly id: string;
  readonly title: string;
  readonly author: string;
  readonly seconds: number;
}

function clockText(seconds: number): string {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (value: number): string => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

const runs = (text: string) => ({ runs: [{ text }] });
const thumbnails = (id: string) => ({
  thumbnails: [{ url: `https://i.ytimg.com/vi/${id}/hq720.jpg`, width: 360, height: 202 }],
});

/** Live streams have none. */
function lengthOf(seconds: number): object {
  return seconds > 0 ? { lengthText: runs(clockText(seconds)) } : {};
}

/** WEB and VISIONOS. */
function videoRenderer({ id, title, author, seconds }: ListedVideo): object {
  const byline = { longBylineText: runs(author), ownerText: runs(author) };
  const lengthText = lengthOf(seconds);
  return { videoRenderer: { videoId: id, title: runs(title), ...byline, ...lengthText, thumbnail: thumbnails(id) } };
}

/** ANDROID, ANDROID_VR and IOS. */
function compactVideoRenderer({ id, title, author, seconds }: ListedVideo): object {
  const lengthText = lengthOf(seconds);
  return { compactVideoRenderer: { videoId: id, title: runs(title), longBylineText: runs(author), ...lengthText } };
}

/** MWEB. */
function videoWithContextRenderer({ id, title, author, seconds }: ListedVideo): object {
  const lengthText = lengthOf(seconds);
  return {
    videoWithContextRenderer: { videoId: id, headline: runs(title), shortBylineText: runs(author), ...lengthText },
  };
}

export function playlistVideoRenderer({ id, title, author, seconds }: ListedVideo): object {
  const lengthSeconds = String(seconds);
  return {
    playlistVideoRenderer: {
      videoId: id,
      title: runs(title),
      shortBylineText: runs(author),
      lengthSeconds,
      isPlayable: true,
    },
  };
}

/** A deleted video as it remains in lists. */
export function deletedVideoRenderer(id: string): object {
  return { playlistVideoRenderer: { videoId: id, title: runs("[Deleted video]"), isPlayable: false } };
}

/** Since about June 2026. */
export function lockupViewModel({ id, title, author, seconds }: ListedVideo): object {
  const badge = { text: clockText(seconds), badgeStyle: "THUMBNAIL_OVERLAY_BADGE_STYLE_DEFAULT" };
  const channel = { onTap: { innertubeCommand: { browseEndpoint: { browseId: "UCchannelchannel" } } } };
  const parts = [{ text: { content: author, commandRuns: [channel] } }, { text: { content: "12K views" } }];
  return {
    lockupViewModel: {
      contentId: id,
      contentType: "LOCKUP_CONTENT_TYPE_VIDEO",
      contentImage: {
        thumbnailViewModel: {
          image: { sources: [{ url: `https://i.ytimg.com/vi/${id}/hqdefault.jpg`, width: 336 }] },
          overlays: [{ thumbnailBottomOverlayViewModel: { badges: [{ thumbnailBadgeViewModel: badge }] } }],
        },
      },
      metadata: {
        lockupMetadataViewModel: {
          title: { content: title },
          metadata: { contentMetadataViewModel: { metadataRows: [{ metadataParts: parts }] } },
        },
      },
    },
  };
}

function playlistPanelVideoRenderer({ id, title, author, seconds }: ListedVideo): object {
  const lengthText = { lengthText: { simpleText: clockText(seconds) } };
  return {
    playlistPanelVideoRenderer: {
      videoId: id,
      title: { simpleText: title },
      longBylineText: runs(author),
      ...lengthText,
    },
  };
}

/** A song of YouTube Music; views follow the time, as they do since YouTube.js 18. */
function musicListItem({ id, title, author, seconds }: ListedVideo): object {
  const column = (texts: readonly object[]) => ({
    musicResponsiveListItemFlexColumnRenderer: { text: { runs: texts } },
  });
  const artist = { text: author, navigationEndpoint: { browseEndpoint: { browseId: "UCchannelchannel" } } };
  const watch = { navigationEndpoint: { watchEndpoint: { videoId: id } } };
  const picture = { url: "https://lh3.googleusercontent.com/x=w60-h60-l90-rj" };
  return {
    musicResponsiveListItemRenderer: {
      playlistItemData: { videoId: id },
      thumbnail: { musicThumbnailRenderer: { thumbnail: { thumbnails: [picture] } } },
      flexColumns: [
        column([{ text: title, ...watch }]),
        column([artist, { text: " • " }, { text: clockText(seconds) }, { text: " • " }, { text: "3M plays" }]),
      ],
    },
  };
}

/** The list of a search, in the position that each client has. */
export function searchAnswer(clientName: string, videos: readonly ListedVideo[]): object {
  const wrapped = (contents: readonly object[]) => ({
    sectionListRenderer: { contents: [{ itemSectionRenderer: { contents } }] },
  });
  if (clientName === "WEB_REMIX") {
    const shelf = { musicShelfRenderer: { contents: videos.map(musicListItem) } };
    const content = { sectionListRenderer: { contents: [shelf] } };
    return { contents: { tabbedSearchResultsRenderer: { tabs: [{ tabRenderer: { content } }] } } };
  }
  if (clientName === "MWEB") return { contents: wrapped(videos.map(videoWithContextRenderer)) };
  if (clientName !== "WEB" && clientName !== "VISIONOS") return { contents: wrapped(videos.map(compactVideoRenderer)) };
  const aside = { shelfRenderer: { content: { verticalListRenderer: { items: [videoRenderer(ASIDE)] } } } };
  const advertisement = { adSlotRenderer: { fulfillmentContent: videoRenderer(ASIDE) } };
  const primaryContents = wrapped([advertisement, ...videos.map(videoRenderer), aside]);
  return { contents: { twoColumnSearchResultsRenderer: { primaryContents } } };
}

export interface ListedList {
  readonly id: string;
  readonly title: string;
  readonly author: string;
  readonly count: number;
}

/** What a search with a filter for playlists finds; `lockups`: as WEB has it of late, where some are albums. */
export function foundPlaylists(lists: readonly ListedList[], lockups: boolean): object {
  return wrapped(lists.map(lockups ? listLockup : playlistRenderer));
}

/** What a search with a filter for channels finds: the names by their id. */
export function foundChannels(names: ReadonlyMap<string, string>): object {
  return wrapped(
    Array.from(names, ([channelId, title]) => ({
      channelRenderer: {
        channelId,
        title: { simpleText: title },
        thumbnail: { thumbnails: [{ url: "//yt3.ggpht.com/a=s88" }, { url: "//yt3.ggpht.com/a=s176" }] },
      },
    })),
  );
}

function wrapped(contents: readonly object[]): object {
  return { contents: { sectionListRenderer: { contents: [{ itemSectionRenderer: { contents } }] } } };
}

function playlistRenderer({ id, title, author, count }: ListedList): object {
  return {
    playlistRenderer: {
      playlistId: id,
      title: { simpleText: title },
      longBylineText: runs(author),
      thumbnails: [thumbnails(id)],
      videoCount: String(count),
    },
  };
}

function listLockup({ id, title, author, count }: ListedList): object {
  const badge = { text: `${count.toLocaleString("en")} videos`, badgeStyle: "THUMBNAIL_OVERLAY_BADGE_STYLE_DEFAULT" };
  const channel = { onTap: { innertubeCommand: { browseEndpoint: { browseId: "UCchannelchannel" } } } };
  const parts = [{ text: { content: author, commandRuns: [channel] } }, { text: { content: "Playlist" } }];
  const isAlbum = id.startsWith("OLAK5uy_");
  return {
    lockupViewModel: {
      contentId: id,
      contentType: `LOCKUP_CONTENT_TYPE_${isAlbum ? "ALBUM" : "PLAYLIST"}`,
      contentImage: {
        collectionThumbnailViewModel: {
          primaryThumbnail: {
            thumbnailViewModel: {
              image: { sources: [{ url: `https://i.ytimg.com/vi/${id}/hqdefault.jpg`, width: 336 }] },
              overlays: [{ thumbnailOverlayBadgeViewModel: { thumbnailBadges: [{ thumbnailBadgeViewModel: badge }] } }],
            },
          },
        },
      },
      metadata: {
        lockupMetadataViewModel: {
          title: { content: title },
          metadata: { contentMetadataViewModel: { metadataRows: [{ metadataParts: parts }] } },
        },
      },
    },
  };
}

const ASIDE: ListedVideo = { id: "advertise00", title: "Buy this", author: "Shop", seconds: 30 };

interface ListedPage {
  readonly title: string;
  readonly items: readonly object[];
  /** The continuation token of the next page. */
  readonly token: string | undefined;
}

/** The first page of a playlist, in the position that each client has. `lockups`: as WEB has it of late. */
export function playlistAnswer(clientName: string, page: ListedPage, lockups: boolean): object {
  const items = [...page.items, ...continuationItem(page.token, lockups)];
  if (clientName !== "WEB") {
    const token =
      page.token === undefined ? {} : { continuations: [{ nextContinuationData: { continuation: page.token } }] };
    const list = { playlistVideoListRenderer: { contents: page.items, ...token } };
    const content = { sectionListRenderer: { contents: [list] } };
    return {
      contents: { singleColumnBrowseResultsRenderer: { tabs: [{ tabRenderer: { content } }] } },
      header: { playlistHeaderRenderer: { title: runs(page.title) } },
    };
  }
  const list = lockups ? items : [{ playlistVideoListRenderer: { contents: items } }];
  const content = { sectionListRenderer: { contents: [{ itemSectionRenderer: { contents: list } }] } };
  return {
    contents: { twoColumnBrowseResultsRenderer: { tabs: [{ tabRenderer: { content } }] } },
    metadata: { playlistMetadataRenderer: { title: page.title } },
  };
}

/** Every further page. */
export function continuationAnswer(clientName: string, page: Omit<ListedPage, "title">, lockups: boolean): object {
  if (clientName !== "WEB") {
    const token =
      page.token === undefined ? {} : { continuations: [{ nextContinuationData: { continuation: page.token } }] };
    return { continuationContents: { playlistVideoListContinuation: { contents: page.items, ...token } } };
  }
  const continuationItems = [...page.items, ...continuationItem(page.token, lockups)];
  return { onResponseReceivedActions: [{ appendContinuationItemsAction: { continuationItems } }] };
}

function continuationItem(token: string | undefined, lockups: boolean): object[] {
  if (token === undefined) return [];
  const continuationCommand = { token, request: "CONTINUATION_REQUEST_TYPE_BROWSE" };
  const model = { continuationCommand: { innertubeCommand: { continuationCommand } } };
  return lockups
    ? [{ continuationItemViewModel: model }]
    : [
        {
          continuationItemRenderer: {
            continuationEndpoint: { commandExecutorCommand: { commands: [{ continuationCommand }] } },
          },
        },
      ];
}

/** A mix; `title` may be missing. */
export function mixAnswer(clientName: string, title: string | undefined, videos: readonly ListedVideo[]): object {
  const contents = videos.map(playlistPanelVideoRenderer);
  const panel = { ...(title !== undefined && { title }), isInfinite: true, contents };
  if (clientName.endsWith("_MUSIC") || clientName === "WEB_REMIX") {
    const content = { musicQueueRenderer: { content: { playlistPanelRenderer: panel } } };
    const tabs = [{ tabRenderer: { content } }];
    const inner = { tabbedRenderer: { watchNextTabbedResultsRenderer: { tabs } } };
    return { contents: { singleColumnMusicWatchNextResultsRenderer: inner } };
  }
  const related = { secondaryResults: { results: [lockupViewModel(ASIDE)] } };
  const name =
    clientName === "WEB" || clientName === "VISIONOS" ? "twoColumnWatchNextResults" : "singleColumnWatchNextResults";
  return { contents: { [name]: { playlist: { playlist: panel }, secondaryResults: related } } };
}
