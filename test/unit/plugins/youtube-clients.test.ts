import { describe, expect, test } from "vitest";
import { chooseClients, inOrderFor } from "../../../plugins/youtube/chosen-clients.ts";
import { YOUTUBE_MANIFEST } from "../../../plugins/youtube/manifest.ts";
import type { PlainTreeMap } from "../../../src/lib/plain-tree.ts";
import type { PluginLogger } from "../../../src/plugin-api/plugin.ts";
import { readOptions } from "../../../src/plugin-options/read-options.ts";

const ALL_ON = { playback: true, videoLoading: true, playlistLoading: true, searching: true };

interface Choice {
  readonly clients: ReturnType<typeof chooseClients>;
  /** Of its warnings: the message, then the fields. */
  readonly warnings: readonly (readonly [string, Readonly<Record<string, unknown>> | undefined])[];
}

/** With options as an operator writes them. */
function choose(written: PlainTreeMap): Choice {
  const { values, problems } = readOptions(YOUTUBE_MANIFEST.config, written, { path: "plugins.youtube" });
  if (values === undefined) throw new Error(problems.join("; "));
  const warnings: [string, Readonly<Record<string, unknown>> | undefined][] = [];
  // Only the member used.
  const log = { warn: (message, fields) => void warnings.push([message, fields]) } as Partial<PluginLogger>;
  return { clients: chooseClients({ options: values, log: log as PluginLogger }), warnings };
}

function playersOf({ clients }: Choice): string[] {
  return inOrderFor(clients, "playback")
    .filter(({ identity }) => identity.abilities.playback)
    .map(({ identity }) => identity.name);
}

function searchersOf({ clients }: Choice): string[] {
  return inOrderFor(clients, "searching")
    .filter(({ identity }) => identity.abilities.search === "videos")
    .map(({ identity }) => identity.name);
}

function loadersOf({ clients }: Choice): string[] {
  return inOrderFor(clients, "videoLoading")
    .filter(({ identity }) => identity.abilities.videos)
    .map(({ identity }) => identity.name);
}

describe("the order of clients", () => {
  test("the built-in order plays with yt-dlp's clients, searches with WEB, and loads videos with VISIONOS", () => {
    const choice = choose({});
    expect(playersOf(choice)).toEqual(["TV_SAMSUNG", "VISIONOS", "WEB", "WEBEMBEDDED"]);
    expect(searchersOf(choice)).toEqual(["WEB", "VISIONOS"]);
    expect(loadersOf(choice)).toEqual(["VISIONOS", "WEB", "WEBEMBEDDED"]);
    expect(choice.warnings).toEqual([]);
  });

  test("the built-in order with a login is yt-dlp's, and VISIONOS", () => {
    const choice = choose({ oauth: { enabled: "true" } });
    expect(playersOf(choice)).toEqual(["WEBEMBEDDED", "TV_SAMSUNG", "WEB", "VISIONOS"]);
    const taking = choice.clients.filter(({ identity }) => identity.takesLogin).map(({ identity }) => identity.name);
    expect(taking).toEqual(["TV_SAMSUNG"]);
  });

  test("the operator's order is kept where one of the clients plays", () => {
    const choice = choose({ clients: ["MUSIC", "IOS", "WEB", "VISIONOS"] });
    expect(playersOf(choice)).toEqual(["WEB", "VISIONOS", "IOS"]);
    expect(searchersOf(choice)).toEqual(["IOS", "WEB", "VISIONOS"]);
    expect(choice.warnings).toEqual([]);
  });

  test("youtube-source's default clients are warned about by name, and ours are tried after those that live", () => {
    const choice = choose({ clients: ["MUSIC", "ANDROID_VR", "WEB", "WEBEMBEDDED"] });
    expect(playersOf(choice)).toEqual(["WEB", "WEBEMBEDDED", "TV_SAMSUNG", "VISIONOS", "ANDROID_VR"]);
    expect(searchersOf(choice)).toEqual(["WEB", "VISIONOS", "ANDROID_VR"]);
    expect(choice.warnings).toEqual([
      [
        "none of the clients in plugins.youtube.clients plays reliably: TV_SAMSUNG, VISIONOS are tried after them; " +
          "remove that option for the built-in order, or set clientsOnly to true",
        {
          clients: [
            "ANDROID_VR (since 2026-08-17 YouTube refuses every link that it gives)",
            "WEB (since 2026-09-10 it is offered audio over SABR only in some sessions)",
            "WEBEMBEDDED (since 2026-09-10 it is offered audio over SABR only in some sessions)",
          ],
        },
      ],
    ]);
  });

  test.each([
    ["IOS", ["IOS", "TV_SAMSUNG", "VISIONOS", "WEB", "WEBEMBEDDED"]],
    ["ANDROID", ["ANDROID", "TV_SAMSUNG", "VISIONOS", "WEB", "WEBEMBEDDED"]],
    ["ANDROID_MUSIC", ["ANDROID_MUSIC", "TV_SAMSUNG", "VISIONOS", "WEB", "WEBEMBEDDED"]],
    ["ANDROID_VR", ["TV_SAMSUNG", "VISIONOS", "WEB", "WEBEMBEDDED", "ANDROID_VR"]],
  ])("%s as the only client is not the only one that is asked", (name, players) => {
    const choice = choose({ clients: [name] });
    expect(playersOf(choice)).toEqual(players);
    expect(choice.warnings[0]?.[1]).toEqual({ clients: [expect.stringMatching(`^${name} \\(since 2026-08-1[47] `)] });
  });

  test("clientsOnly keeps it to the operator's clients, which are still warned about", () => {
    const choice = choose({ clients: ["ANDROID_VR", "IOS"], clientsOnly: "true" });
    expect(playersOf(choice)).toEqual(["IOS", "ANDROID_VR"]);
    expect(choice.warnings[0]?.[0]).toContain("plays reliably: add TV_SAMSUNG, VISIONOS, WEB, WEBEMBEDDED, or remove");
  });

  test.each([
    [{ clients: ["TV"] }, "TV (needs a login: oauth.enabled)"],
    [{ clients: ["MUSIC", "WEB"] }, "WEB (since 2026-09-10 "],
    [{ clients: ["MUSIC"] }, undefined],
  ])("a choice that hardly plays is warned about: %o", (written, reason) => {
    const { clients, warnings } = choose(written);
    const names = clients.map(({ identity }) => identity.name);
    expect(names.slice(0, written.clients.length)).toEqual(written.clients);
    expect(names).toEqual(expect.arrayContaining(["TV_SAMSUNG", "VISIONOS"]));
    expect(warnings[0]?.[0]).toContain("plays reliably: TV_SAMSUNG, VISIONOS");
    expect(warnings[0]?.[1]).toEqual({ clients: reason === undefined ? [] : [expect.stringContaining(reason)] });
    const own = choose({ ...written, clientsOnly: "true" });
    expect(own.clients.map(({ identity }) => identity.name)).toEqual(written.clients);
    expect(own.warnings[0]?.[0]).toContain("plays reliably: add TV_SAMSUNG, VISIONOS");
  });

  test("clients that youtube-source has dropped are named as such, and ours are asked in their place", () => {
    const dropped = ["ANDROID_TESTSUITE", "ANDROID_LITE", "MEDIA_CONNECT", "TVHTML5EMBEDDED"];
    const choice = choose({ clients: dropped });
    expect(choice.clients.map(({ identity }) => identity.name)).toEqual(
      choose({}).clients.map((one) => one.identity.name),
    );
    expect(choice.warnings).toEqual([
      [
        expect.stringContaining("options clients and clientOptions: YouTube no longer plays through these clients"),
        { clients: dropped },
      ],
      [expect.stringContaining("MUSIC, TV_SAMSUNG, VISIONOS, WEB, WEBEMBEDDED are tried"), { clients: [] }],
    ]);
    expect(choose({ clients: dropped, clientsOnly: "true" }).clients).toEqual([]);
  });

  test("a client that may not play is no reason to rely on it", () => {
    const choice = choose({ clients: ["VISIONOS", "ANDROID_VR"], clientOptions: { VISIONOS: { playback: "false" } } });
    expect(choice.clients.map(({ identity }) => identity.name)).toContain("TV_SAMSUNG");
    expect(choice.warnings[0]?.[1]).toEqual({ clients: [expect.stringContaining("ANDROID_VR")] });
  });

  test("clients whose playback is switched off get no replacement", () => {
    const choice = choose({ clients: ["ANDROID_VR"], clientOptions: { ANDROID_VR: { playback: "false" } } });
    expect([playersOf(choice), choice.warnings]).toEqual([["ANDROID_VR"], []]);
  });

  test.each(["false", "true"])(
    "clients of ours that are switched off are named to be switched on: %s",
    (clientsOnly) => {
      const off = { playback: "false" };
      const clientOptions = { VISIONOS: off, TV_SAMSUNG: off };
      const clients = ["VISIONOS", "TV_SAMSUNG", "WEB", "WEBEMBEDDED"];
      const choice = choose({ clients, clientOptions, clientsOnly });
      expect(choice.clients).toHaveLength(clients.length);
      expect(choice.warnings.map(([message]) => message)).toEqual([
        "none of the clients in plugins.youtube.clients plays reliably: switch on the playback of VISIONOS or TV_SAMSUNG " +
          "in clientOptions",
      ]);
    },
  );

  test.each(["videoLoading", "playlistLoading", "searching"] as const)(
    "%s that is switched off for all clients stays off for those that are added",
    (errand) => {
      const clientOptions = { ANDROID_VR: { [errand]: "false" }, IOS: { [errand]: "false" } };
      const added = (clients: string[]) => choose({ clients, clientOptions }).clients.filter((one) => one.isAdded);
      const off = { ...ALL_ON, [errand]: false };
      expect(added(["ANDROID_VR", "IOS"]).map(({ switches }) => switches)).toEqual([off, off, off, off]);
      expect(added(["ANDROID_VR", "MWEB"]).map(({ switches }) => switches)).toEqual([ALL_ON, ALL_ON, ALL_ON, ALL_ON]);
    },
  );

  test("a client with a login is relied on", () => {
    expect(choose({ clients: ["WEB_CREATOR", "TV_SAMSUNG", "WEB"], oauth: { enabled: "true" } }).warnings).toEqual([]);
  });

  test("no more clients are asked than there are circuit breakers for", () => {
    const names = Array.from({ length: 30 }, (_, index) => `NEW_${index}`);
    const identity = { clientName: "N", clientNumber: "9", clientVersion: "1" };
    const { clients, warnings } = choose({
      clients: names,
      clientIdentities: Object.fromEntries(names.map((name) => [name, identity])),
    });
    expect(clients.map(({ identity: { name } }) => name)).toEqual(names.slice(0, 14));
    expect(warnings).toEqual([[expect.stringContaining("at most 14 clients"), { clients: names.slice(14) }]]);
  });
});

describe("clients that the operator defines", () => {
  const NEXT = { clientName: "NEXT", clientNumber: "300", clientVersion: "3.1" };

  test("a new name is a client once its name, number and version are set", () => {
    const { clients, warnings } = choose({ clients: ["NEXT"], clientIdentities: { NEXT } });
    expect(warnings).toEqual([]);
    expect(clients[0]?.identity).toMatchObject({
      name: "NEXT",
      clientName: "NEXT",
      clientNumber: 300,
      clientVersion: "3.1",
      host: "www.youtube.com",
      needsPlayerScript: true,
      abilities: { playback: true, videos: true, playlists: true, mixes: true, search: "videos" },
    });
  });

  test("a new name that lacks one of them is ignored, and what is missing is said", () => {
    const { clients, warnings } = choose({
      clients: ["NEXT", "VISIONOS"],
      clientIdentities: { NEXT: { clientName: "NEXT" } },
    });
    expect(clients.map(({ identity }) => identity.name)).toEqual(["VISIONOS"]);
    expect(warnings.map(([message]) => message)).toEqual([
      "clientIdentities.NEXT is not a built-in client; to add it, also set clientNumber, clientVersion; it is ignored",
    ]);
  });

  test("unknown names are ignored, and the known ones are said", () => {
    const { clients, warnings } = choose({ clients: ["VISIONARY", "VISIONOS"], clientIdentities: { NEXT } });
    expect(clients.map(({ identity }) => identity.name)).toEqual(["VISIONOS"]);
    expect(warnings).toEqual([
      [expect.stringContaining("only where they are listed in clients"), { clients: ["NEXT"] }],
      [expect.any(String), { clients: ["VISIONARY"], known: expect.stringMatching(/VISIONOS.*NEXT/) }],
    ]);
  });

  test("a name with odd characters is ignored and not repeated", () => {
    const { warnings } = choose({ clientIdentities: { "a\nb": NEXT } });
    expect(warnings.map(([message]) => message)).toEqual([
      expect.stringContaining("expected a name of 1 to 40 letters"),
    ]);
  });

  test("each trait of a client can be set", () => {
    const { clients } = choose({
      clients: ["WEB"],
      clientIdentities: {
        WEB: {
          playerParams: "",
          context: ["osName=Next", "clientScreen="],
          needsPlayerScript: "false",
          takesTokens: "false",
          takesLogin: "true",
          needsLogin: "true",
          isEmbedded: "true",
          embedUrl: "https://example.org/",
          playback: "true",
          videos: "false",
          playlists: "false",
          mixes: "false",
          search: "music",
          isLastForLists: "true",
        },
      },
    });
    expect(clients[0]?.identity).toMatchObject({
      clientName: "WEB",
      playerParams: undefined,
      context: { osName: "Next" },
      needsPlayerScript: false,
      takesTokens: false,
      takesLogin: true,
      needsLogin: true,
      isEmbedded: true,
      embedUrl: "https://example.org/",
      isLastForLists: true,
      abilities: { playback: true, videos: false, playlists: false, mixes: false, search: "music" },
    });
  });

  test("a trait that is not set keeps its value", () => {
    const [changed] = choose({ clients: ["WEB"], clientIdentities: { WEB: { userAgent: "Next" } } }).clients;
    const [builtIn] = choose({ clients: ["WEB"] }).clients;
    expect(changed?.identity).toEqual({ ...builtIn?.identity, userAgent: "Next" });
  });

  test("a page that is none is not claimed", () => {
    const { clients, warnings } = choose({
      clients: ["VISIONOS"],
      clientIdentities: { VISIONOS: { embedUrl: "javascript:alert(1)" } },
    });
    expect(clients[0]?.identity.embedUrl).toBe("https://www.reddit.com/");
    expect(warnings[0]?.[0]).toContain("clientIdentities.VISIONOS.embedUrl: expected an http or https address");
  });

  test("a client that the operator renews is no longer taken for dead", () => {
    const written = { clients: ["ANDROID_VR"], clientIdentities: { ANDROID_VR: { clientVersion: "2.0" } } };
    expect([playersOf(choose(written)), choose(written).warnings]).toEqual([["ANDROID_VR"], []]);
  });
});
