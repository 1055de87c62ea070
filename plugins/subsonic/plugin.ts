// Plays from OpenSubsonic servers of the operator's own. Plugin thread.

import { API_VERSION, definePlugin } from "../../src/plugin-api/plugin.ts";
import { checkedServers } from "../own-servers/server-options.ts";
import { ServersSource } from "../own-servers/servers-source.ts";
import { SUBSONIC_MANIFEST } from "./manifest.ts";
import { SubsonicServer } from "./subsonic-server.ts";

const { name, version, config, sources } = SUBSONIC_MANIFEST;

export default definePlugin({
  name,
  version,
  apiVersion: API_VERSION,
  config,
  setup(host) {
    const { servers, searchLimit, transcodeTo } = host.options;
    const connected = checkedServers(servers, name).map((server) => {
      return new SubsonicServer(host, server, { searchLimit, transcodeTo });
    });
    const source = new ServersSource({ host, manifest: sources[0], servers: connected });
    host.addSource(source);
    host.addLyricsProvider(source.lyricsProvider);
  },
});
