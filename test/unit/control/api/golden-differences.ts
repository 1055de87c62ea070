// Where we answer otherwise than the recorded server, on purpose, and recorded cases that cannot be replayed without
// audio or voice. test/integration/*/golden-*.test.ts replay those. docs/reference/compatibility.md documents the same
// differences.

import { expect } from "vitest";
import type { GoldenCase, Parsed } from "../../../support/golden.ts";

interface Difference {
  readonly names: readonly string[];
  readonly reason: string;
  /** By index of the step: what we answer. Steps not named match the recording. */
  readonly steps: Readonly<Record<number, Partial<ExpectedAnswer>>>;
}

interface ExpectedAnswer {
  readonly status: number;
  /** The message of the error object. */
  readonly message: unknown;
  readonly headers: object;
  readonly body: unknown;
}

const NO_PLAYER = { status: 404, message: "Player not found" };

const NO_LOADED_PLAYER = { status: 404, body: expect.objectContaining({ message: "Player not found" }) };

/** The answer to a seek beyond the end. */
const AT_THE_END = expect.objectContaining({ state: expect.objectContaining({ position: 30048 }) });

const SEEKABLE = { isSeekable: true, isStream: false };

/** A load result with one track. */
function loaded(info: object, probeInfo: string): Partial<ExpectedAnswer> {
  const data = expect.objectContaining({ info: expect.objectContaining(info), pluginInfo: { probeInfo } });
  return { status: 200, body: { loadType: "track", data } };
}

/** Refused in the first step, so there is no player in the second and no such filter in the third. */
function refusedFilter(message: string): Difference["steps"] {
  return { 0: { status: 400, message }, 1: NO_PLAYER, 2: { body: expect.objectContaining({ filters: {} }) } };
}

export const DIFFERENCES: readonly Difference[] = [
  {
    names: ["auth-none-v3"],
    reason: "v3 is served for older clients",
    steps: { 0: { status: 401, headers: { "lavalink-api-version": "3" } } },
  },
  { names: ["auth-wrong-v3"], reason: "v3 is served for older clients", steps: { 0: { status: 403 } } },
  {
    names: ["auth-ok-v3"],
    reason: "v3 is served for older clients",
    steps: { 0: { status: 200, headers: { "lavalink-api-version": "3" } } },
  },
  {
    names: ["accept-html-unknown"],
    reason: "error objects are JSON for every client; this API is not read in browsers",
    steps: { 0: { headers: { "content-type": "application/json" }, message: "No endpoint GET /v4/nope." } },
  },
  {
    names: ["auth-bearer"],
    reason: "GET /version is open, whatever the header says (spec.md, Authentication)",
    steps: { 0: { status: 200, body: expect.stringMatching(/^\d+\.\d+\.\d+$/) } },
  },
  {
    names: ["auth-none-error", "auth-ok-error"],
    reason: "/error is a page of the published server's framework, not of the protocol",
    steps: { 0: { status: 404, message: "No endpoint GET /error." } },
  },
  {
    names: ["decode-empty", "decodetracks-one-bad"],
    reason: "bad input is answered with 400 and a reason instead of 500",
    steps: { 0: { status: 400, message: "cannot decode the encoded track: it is empty" } },
  },
  {
    names: ["decode-notb64"],
    reason: "as above",
    steps: {
      0: { status: 400, message: "cannot decode the encoded track: it holds the illegal base64 character 0x21" },
    },
  },
  {
    names: ["decode-v3-unknown-probe"],
    reason: "as above",
    steps: { 0: { status: 400, message: 'cannot decode the encoded track: its container "zzz" is not known' } },
  },
  {
    names: ["decode-unknown-source"],
    reason: "tracks of every source that the format names decode, also while the source is switched off",
    steps: { 0: { status: 200, body: expect.objectContaining({ pluginInfo: {} }) } },
  },
  {
    names: ["player-encoded-bad-b64"],
    reason: "as decode-notb64; and a refused update leaves nothing behind, no player either (protocol-v4.md 9.3, 5)",
    steps: { 0: { status: 400, message: expect.stringContaining("illegal base64") }, 1: NO_PLAYER },
  },
  {
    names: ["player-encoded-empty", "player-encoded-garbage"],
    reason: "as above",
    steps: { 0: { status: 400, message: expect.stringContaining("it is empty") }, 1: NO_PLAYER },
  },
  {
    names: ["player-voice-badendpoint"],
    reason: "as above",
    steps: { 0: { status: 400, message: expect.stringContaining("voice.endpoint must be a host name") }, 1: NO_PLAYER },
  },
  {
    names: ["player-voice-nochannel"],
    reason: "clients from before 4.2 send no channelId and are served",
    steps: { 0: { status: 200 }, 1: { status: 200 } },
  },
  {
    names: ["player-identifier-refused"],
    reason: "the reason is included, which the published server leaves out since 4.0.8 (protocol-v4.md 9.3, 1)",
    steps: {
      0: { status: 400, message: expect.stringMatching(/^Something went wrong while looking up the track: .+/) },
      1: NO_PLAYER,
    },
  },
  {
    names: ["player-identifier-404", "player-identifier-empty"],
    reason: "a refused update leaves nothing behind, no player either (protocol-v4.md 9.3, 5)",
    steps: { 1: NO_PLAYER },
  },
  {
    names: ["play-novoice"],
    reason:
      "a seek's target is reported until playback has moved on; the recorded one forgot it (protocol-v4.md 9.3, 7)",
    // Step 9 ends the track there.
    steps: { ...Object.fromEntries([4, 5, 6, 7, 8].map((step) => [step, { body: AT_THE_END }])), 9: { status: 200 } },
  },
  {
    names: ["filters-eq-band-neg"],
    reason: "values outside the published range are refused, naming field and range",
    steps: { 0: { status: 400, message: "filters.equalizer[0].band must be from 0 to 14, but is -1" }, 1: NO_PLAYER },
  },
  {
    names: ["filters-eq-gain2"],
    reason: "as above",
    steps: refusedFilter("filters.equalizer[0].gain must be from -0.25 to 1, but is 2"),
  },
  {
    names: ["filters-karaoke-partial"],
    reason: "as above",
    steps: refusedFilter("filters.karaoke.level must be from 0 to 1, but is 2"),
  },
  {
    names: ["filters-timescale-zero"],
    reason: "as above; the published server accepts the value and kills the track later",
    steps: refusedFilter("filters.timescale.speed must be greater than 0, but is 0"),
  },
  {
    names: ["filters-tremolo-depth2"],
    reason: "as above",
    steps: refusedFilter("filters.tremolo.depth must be from 0 to 1, but is 2"),
  },
  {
    names: ["filters-tremolo-freq0"],
    reason: "as above",
    steps: refusedFilter("filters.tremolo.frequency must be greater than 0, but is 0"),
  },
  {
    names: ["filters-tremolo-freqneg"],
    reason: "as above",
    steps: refusedFilter("filters.tremolo.frequency must be greater than 0, but is -1"),
  },
  {
    names: ["filters-vibrato-freq0"],
    reason: "as above",
    steps: refusedFilter("filters.vibrato.frequency must be greater than 0 and at most 14, but is 0"),
  },
  {
    names: ["filters-vibrato-freq20"],
    reason: "as above",
    steps: refusedFilter("filters.vibrato.frequency must be greater than 0 and at most 14, but is 20"),
  },
  {
    names: ["filters-volume-6"],
    reason: "as above",
    steps: refusedFilter("filters.volume must be from 0 to 5, but is 6"),
  },
];

/** Recorded handshakes that we answer otherwise. */
export const HANDSHAKE_DIFFERENCES: Readonly<
  Record<string, { readonly reason: string; readonly status: number; readonly apiVersion?: "3" }>
> = {
  "float-user": {
    reason: "an invalid User-Id is refused with its reason, instead of opening and closing with 1011",
    status: 400,
  },
  "huge-user": { reason: "as above", status: 400 },
  "nonnumeric-user": { reason: "as above", status: 400 },
  "root-path": { reason: "v3 is served for older clients", status: 101, apiVersion: "3" },
  "v3-path": { reason: "v3 is served for older clients", status: 101, apiVersion: "3" },
};

export const NEEDS_WHOLE_NODE: readonly { readonly reason: string; applies(golden: GoldenCase): boolean }[] = [
  {
    reason: "media must be probed to load a track, or to name what is wrong with it",
    applies: ({ steps: [step] }) => ["track", "error"].includes(step?.response.json?.loadType),
  },
  { reason: "plays an identifier, which must be loaded", applies: ({ name }) => name === "play-identifier-novoice" },
  {
    reason: "needs a voice server that refuses",
    applies: ({ name }) => ["player-voice-refused", "player-voice-plain-http-port"].includes(name),
  },
];

/** Cases of NEEDS_WHOLE_NODE in which we do otherwise. */
export const LOADED_DIFFERENCES: readonly Difference[] = [
  {
    names: ["load-http-list.m3u", "load-local-list.m3u"],
    reason: "a list of whole files is no HLS: its first file is the track (protocol-v4.md 7.3)",
    steps: { 0: loaded({ title: "TestTitle", length: 30048, isSeekable: true }, "mp3") },
  },
  {
    names: ["load-http-rawspace"],
    reason: "an address with characters that should have been escaped is taken as it is meant",
    steps: { 0: loaded({ title: "TestTitle", length: 1656 }, "mp3") },
  },
  {
    names: ["load-http-tone-frag.m4a", "load-local-tone-frag.m4a"],
    reason: "a file with a length is not a stream and is seekable",
    steps: { 0: loaded({ length: 30021, ...SEEKABLE }, "mp4") },
  },
  {
    names: ["load-http-tone.ogg", "load-http-tone.opus"],
    reason: "as above, also where the server has no ranges",
    steps: { 0: loaded({ length: 30006, ...SEEKABLE }, "ogg") },
  },
  {
    names: ["loadrange-chunked-tone.mp3"],
    reason: "as above: the file itself contains its length",
    steps: { 0: loaded({ length: 30048, ...SEEKABLE }, "mp3") },
  },
  {
    names: ["loadrange-hls.m3u8"],
    reason: "as above: a finished playlist is no stream",
    steps: { 0: loaded({ length: 4032, ...SEEKABLE }, "m3u|hls-outer") },
  },
  {
    names: ["load-http-tone.ts", "loadrange-tone.ts"],
    reason: "as above: MPEG-TS says when it begins and ends",
    steps: { 0: loaded({ length: 30037, ...SEEKABLE }, "adts") },
  },
  {
    names: ["loadrange-hls1.ts", "loadrange-hls2.ts", "loadrange-hls3.ts"],
    reason: "as above",
    steps: { 0: loaded({ length: 1002, ...SEEKABLE }, "adts") },
  },
  {
    names: ["loadrange-hls5.ts"],
    reason: "as above",
    steps: { 0: loaded({ length: 21, ...SEEKABLE }, "adts") },
  },
  {
    names: ["loadrange-tone.aac"],
    reason: "as above: the frames of AAC are counted",
    steps: { 0: loaded({ length: 30037, ...SEEKABLE }, "adts") },
  },
  {
    names: ["load-local-relative"],
    reason: "local files are played from the configured folders only",
    steps: { 0: { status: 200, body: expect.objectContaining({ loadType: "error" }) } },
  },
  {
    names: ["load-scsearch-offline"],
    reason: "this node has no such source, and what no source knows is empty (protocol-v4.md 7.1)",
    steps: { 0: { status: 200, body: { loadType: "empty", data: null } } },
  },
  {
    names: ["play-identifier-novoice"],
    reason: "a start position stays until playback has moved on; the recorded one forgot it (protocol-v4.md 9.3, 6)",
    steps: {
      1: { status: 200, body: expect.objectContaining({ state: expect.objectContaining({ position: 3000 }) }) },
    },
  },
  {
    names: ["player-voice-refused"],
    reason: "PATCH never hangs: the recorded one did not answer in time",
    steps: {
      0: { status: 500, body: expect.objectContaining({ message: "Failed to connect to voice server" }) },
      1: NO_LOADED_PLAYER,
    },
  },
  {
    names: ["player-voice-plain-http-port"],
    reason: "a refused update leaves nothing behind, no player either (protocol-v4.md 9.3, 5)",
    steps: { 1: NO_LOADED_PLAYER },
  },
];

/** The recorded sequences of ws.jsonl that play audio, move voice or wait a minute. */
export const NEEDS_WHOLE_NODE_SEQUENCES = /^(?:play|voice|destroy|resume|stats)-/;

interface SequenceDifference {
  readonly names: readonly string[];
  readonly reason: string;
  /** The messages that the client gets with us, in order; left out when they are the same. */
  readonly reported?: readonly string[];
  /** Our answer where the recording has this one. A player without `track` is not compared in track and state. */
  readonly answer?: (request: Parsed, recorded: Parsed) => Parsed;
}

/** The player still has its track where the recorded one had lost it. */
function stillPlaying(_request: Parsed, recorded: Parsed): Parsed {
  if (recorded.json.track !== null) return recorded;
  return { ...recorded, json: { ...recorded.json, track: undefined } };
}

/** The filters are refused, so nothing of that request happens and they are never there. */
function withoutBadFilters(request: Parsed, recorded: Parsed): Parsed {
  if (/"filters": \{"/.test(request.body)) {
    return { status: 400, json: { message: expect.stringMatching(/^filters\.\S+ must be/) } };
  }
  return { ...recorded, json: { ...recorded.json, filters: {} } };
}

/** Recorded sequences in which we do otherwise. */
export const SEQUENCE_DIFFERENCES: readonly SequenceDifference[] = [
  {
    names: ["play-fragmp4"],
    reason: "fragmented MP4 is played; the recorded server found no audio in it",
    reported: ["connected", "TrackStartEvent"],
    answer: stillPlaying,
  },
  {
    names: ["play-invalid-filter-timescale0", "play-invalid-filter-volume6"],
    reason: "values outside the published range are refused, naming field and range",
    reported: ["connected"],
    answer: withoutBadFilters,
  },
  {
    names: ["play-then-invalid-filter-tremolo-depth2", "play-then-invalid-filter-volume6"],
    reason: "as above: so the track plays on",
    reported: ["connected", "TrackStartEvent"],
    answer: (request, recorded) => withoutBadFilters(request, stillPlaying(request, recorded)),
  },
  {
    names: ["play-and-voice-one-patch-then-ws-drop"],
    reason: "the track is loaded before voice is connected, and starts at once when it is",
    reported: ["TrackStartEvent", "connected"],
  },
  {
    names: ["play-truncated"],
    reason: "a truncated file ends when everything in it has been played",
    reported: ["connected", "TrackStartEvent", "TrackEndEvent finished"],
  },
  {
    names: ["voice-close-1000"],
    reason: "tried again once; a session that is over is then reported with Discord's answer (discord-voice.md 1.7)",
    reported: ["connected", "TrackStartEvent", "WebSocketClosedEvent 4006 true", "disconnected"],
  },
  {
    names: ["voice-no-session-description"],
    reason: "a connection is reported when audio can be sent, not before (protocol-v4.md 4.4)",
    reported: ["TrackStartEvent", "connected"],
  },
];

/** Recorded sequences that take a minute, and where the same is shown with a clock of the tests. */
export const NOT_WALKED_SEQUENCES: ReadonlyMap<string, string> = new Map([
  ["stats-after-60s", "stats each minute: test/unit/control/sessions; playerUpdates: test/unit/control/players"],
]);

const IPV6_PLANNERS = ["loadbalance-v6", "nanoswitch-v6", "rotateonban-v6", "rotatingnano-v6-64"];

/** `address` is invalid, or in none of the blocks; the message names the blocks. */
function refusedAddress(address: string): Partial<ExpectedAnswer> {
  return {
    status: 400,
    message: expect.stringContaining(`Invalid address: ${address}: expected an IP address within `),
  };
}

/** Differences to routeplanner.jsonl; a case may appear in several. */
export const PLANNER_DIFFERENCES: readonly Difference[] = [
  {
    names: ["bad-cidr", "rotateonban-two-blocks", "rotateonban-v4", "rotateonban-v6"],
    reason: "the status never fails, also before the first request (protocol-v4.md 9.3, 11)",
    steps: Object.fromEntries(
      [0, 16, 18].map((step) => [
        step,
        {
          status: 200,
          body: {
            class: "RotatingIpRoutePlanner",
            details: { failingAddresses: [], rotateIndex: "0", ipIndex: "0", currentAddress: "" },
          },
        },
      ]),
    ),
  },
  {
    names: [...IPV6_PLANNERS, "bad-cidr", "rotateonban-two-blocks", "rotateonban-v4"],
    reason: "only literal addresses are accepted: no name is resolved, no number interpreted",
    steps: {
      4: refusedAddress("not an ip"),
      5: refusedAddress("nope.invalid"),
      6: refusedAddress(""),
      7: refusedAddress("1"),
      8: refusedAddress("localhost"),
    },
  },
  {
    names: ["bad-cidr"],
    reason: "an address outside the blocks is refused, naming them",
    steps: { 1: refusedAddress("127.0.0.5"), 2: refusedAddress("10.9.9.9"), 3: refusedAddress("fd00::5") },
  },
  {
    names: IPV6_PLANNERS,
    reason: "as above",
    steps: { 1: refusedAddress("127.0.0.5"), 2: refusedAddress("10.9.9.9") },
  },
  {
    names: ["rotateonban-v4"],
    reason: "as above",
    steps: { 2: refusedAddress("10.9.9.9"), 3: refusedAddress("fd00::5") },
  },
  { names: ["rotateonban-two-blocks"], reason: "as above", steps: { 3: refusedAddress("fd00::5") } },
];
