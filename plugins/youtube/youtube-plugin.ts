// Assembles the YouTube plugin around a challenge solver: a separate thread in the node, the same code without a thread
// in tests. Plugin thread.

import { API_VERSION, definePlugin, type Plugin } from "../../src/plugin-api/plugin.ts";
import { Catalogue } from "./catalogue.ts";
import { chooseClients, type Host, isPlayer, playsWithScript } from "./chosen-clients.ts";
import { Innertube } from "./innertube.ts";
import { Login } from "./login.ts";
import { YOUTUBE_MANIFEST } from "./manifest.ts";
import { Playback } from "./playback.ts";
import { PlayerScripts } from "./player-script.ts";
import { RemoteCipher } from "./remote-cipher.ts";
import { ScriptUnlocker, type Solver } from "./script-unlocker.ts";
import { Searches } from "./searches.ts";
import { OriginTokens } from "./tokens.ts";

type CreateSolver = (host: Pick<Host, "clock" | "pool">) => Solver;

/** `createSolver`: called twice for each life of the plugin. */
export function createYoutubePlugin(createSolver: CreateSolver): Plugin<(typeof YOUTUBE_MANIFEST)["config"]> {
  const { name, version, config, aliases, sources, searchProviders } = YOUTUBE_MANIFEST;
  return definePlugin({
    name,
    version,
    config,
    apiVersion: API_VERSION,
    setup(host) {
      const clients = chooseClients(host);
      const innertube = new Innertube(host);
      const scripts = new PlayerScripts(host);
      // Each waits for its own jobs only.
      const solverOf = (number: number): Solver =>
        createSolver({ clock: host.clock, pool: (name, pool) => host.pool(`${name}, ${number}`, pool) });
      const solvers = [solverOf(1), solverOf(2)] as const;
      host.onDispose(() => solvers.forEach((solver) => void solver.close()));
      const { url } = host.options.remoteCipher;
      const hasOtherClients = clients.some((client) => isPlayer(client) && !playsWithScript(client));
      const unlocker =
        url === undefined || url === ""
          ? new ScriptUnlocker({ host, scripts, solvers, hasOtherClients })
          : new RemoteCipher({ host, scripts, baseUrl: url });
      // It takes seconds; no track is to wait for it.
      if (clients.some(playsWithScript)) void unlocker.prepare();
      const catalogue = new Catalogue({ host, innertube, clients });
      const login = new Login(host);
      const originTokens = new OriginTokens(host);
      const playback = new Playback({ host, innertube, clients, unlocker, originTokens, login });
      // An operator may take minutes; it never rejects.
      void login.begin();
      // Calls behind Lavalink's routes `/youtube`.
      host.addCall("refreshToken", async () => login.refreshToken ?? null);
      host.addCall("exchange", async (token, signal) => login.exchange(String(token), signal));
      host.addCall("forgetLogin", async () => {
        login.forgetLogin();
        return null;
      });
      for (const alias of aliases) host.addAlias(alias.name, alias.version);
      for (const claims of sources) {
        host.addSource({
          ...claims,
          load: ({ identifier, signal }) => catalogue.load(identifier, signal),
          resolve: (request) => playback.resolve(request),
        });
      }
      const searches = new Searches({ host, innertube, clients, catalogue });
      host.addSearchProvider({ ...searchProviders[0], search: (request) => searches.search(request) });
    },
  });
}
