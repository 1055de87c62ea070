// Plays from Jellyfin servers of the operator's own. Plugin thread.

import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { API_VERSION, definePlugin } from "../../src/plugin-api/plugin.ts";
import { checkedServers } from "../own-servers/server-options.ts";
import { ServersSource } from "../own-servers/servers-source.ts";
import { JellyfinServer } from "./jellyfin-server.ts";
import { JELLYFIN_MANIFEST } from "./manifest.ts";

const { name, version, config, sources } = JELLYFIN_MANIFEST;

export default definePlugin({
  name,
  version,
  apiVersion: API_VERSION,
  config,
  setup(host) {
    const { servers, searchLimit, transcodeTo, deviceId = deviceIdOfMachine() } = host.options;
    const connected = checkedServers(servers, name).map((server) => {
      return new JellyfinServer(host, server, { searchLimit, transcodeTo, deviceId });
    });
    const source = new ServersSource({ host, manifest: sources[0], servers: connected });
    host.addSource(source);
    host.addLyricsProvider(source.lyricsProvider);
  },
});

/** A stable id, so that a restart does not register another device; a hash, since the machine's name is private. */
function deviceIdOfMachine(): string {
  return `tonearm-${createHash("sha256").update(hostname()).digest("hex").slice(0, 16)}`;
}
