// The operator's own servers on a whole node: they are at an address that the node may not reach otherwise; their songs
// are found and played, and nothing else at that address is reachable.

import { connect, createServer, type Server } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { numbersFrom, packetNumbers } from "../../../lab/media-files/counted-song.ts";
import { JellyfinSite, jellyfinId } from "../../../lab/sites/jellyfin.ts";
import { SubsonicSite } from "../../../lab/sites/subsonic.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import type { BuiltinPlugin } from "../../../plugins/builtin.ts";
import { JELLYFIN_MANIFEST } from "../../../plugins/jellyfin/manifest.ts";
import { SUBSONIC_MANIFEST } from "../../../plugins/subsonic/manifest.ts";
import { MusicCall } from "../../support/music-call.ts";
import { BUILTIN_FOLDER, startTestEnvironment } from "../../support/start-test-environment.ts";

/** Loopback, but for the one address that is allowed. */
const PRIVATE = "127.0.0.3";
const isOn = (): boolean => true;
const BUILTINS: readonly BuiltinPlugin[] = [
  { manifest: SUBSONIC_MANIFEST, rank: "middle", module: "subsonic/plugin.js", isOn },
  { manifest: JELLYFIN_MANIFEST, rank: "middle", module: "jellyfin/plugin.js", isOn },
];

let subsonic: SubsonicSite;
let jellyfin: JellyfinSite;
const fronts: Server[] = [];
let env: TestEnvironment;
let songUrl: string;

/** Forwards to the same server from the private address. */
async function moved(url: string): Promise<string> {
  const { port, pathname } = new URL(url);
  const front = createServer((socket) => {
    const inner = connect(Number(port), "127.0.0.1");
    for (const end of [socket, inner]) {
      end.on("error", () => {
        socket.destroy();
        inner.destroy();
      });
    }
    socket.pipe(inner).pipe(socket);
  });
  await new Promise<void>((resolve) => front.listen(0, PRIVATE, resolve));
  fronts.push(front);
  const address = front.address();
  return `http://${PRIVATE}:${typeof address === "object" ? address?.port : ""}${pathname}`;
}

beforeAll(async () => {
  [subsonic, jellyfin] = [await SubsonicSite.start(), await JellyfinSite.start()];
  const [subsonicUrl, jellyfinUrl] = [await moved(subsonic.url), await moved(jellyfin.url)];
  songUrl = `${subsonicUrl}/rest/stream.view?id=s1&v=1&c=x&f=json&apiKey=${subsonic.apiKey}`;
  env = await startTestEnvironment({
    plugins: { builtinFolder: BUILTIN_FOLDER, builtins: BUILTINS },
    config: {
      TONEARM_NETWORK_ALLOW: "127.0.0.1/32",
      PLUGINS_SUBSONIC_SERVERS_0_NAME: "home",
      PLUGINS_SUBSONIC_SERVERS_0_URL: subsonicUrl,
      PLUGINS_SUBSONIC_SERVERS_0_USERNAME: subsonic.username,
      PLUGINS_SUBSONIC_SERVERS_0_PASSWORD: subsonic.password,
      PLUGINS_JELLYFIN_SERVERS_0_NAME: "home",
      PLUGINS_JELLYFIN_SERVERS_0_URL: jellyfinUrl,
      PLUGINS_JELLYFIN_SERVERS_0_USERNAME: jellyfin.username,
      PLUGINS_JELLYFIN_SERVERS_0_PASSWORD: jellyfin.password,
    },
  });
});
afterAll(async () => {
  await env.close();
  for (const front of fronts) front.close();
  await subsonic.close();
  await jellyfin.close();
});

it.each([
  ["subsearch:light", "subsonic:home:s1"],
  ["jfsearch:light", `jellyfin:home:${jellyfinId(1)}`],
])("%s finds a song and plays it to its end", async (search, identifier) => {
  const call = await MusicCall.join(env);
  const { body } = await call.bot.load(search);
  expect(body).toMatchObject({ loadType: "search", data: [{ info: { identifier, uri: null } }] });
  const [track] = body.data as { encoded: string }[];
  await call.update({ track: { encoded: track?.encoded }, position: 6000 });
  expect(await call.ended()).toMatchObject({ reason: "finished" });
  await call.untilSilent();
  expect(packetNumbers(call.audio).slice(-150)).toEqual(numbersFrom(350, 500));
  await call.leave();
});

it("the private address is refused when a client names it", async () => {
  const bot = await env.connectBot();
  const { body } = await bot.load(songUrl);
  expect(body).toMatchObject({ loadType: "error" });
  expect(JSON.stringify(body)).toContain("refused");
});
