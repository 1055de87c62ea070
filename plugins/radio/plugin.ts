// Internet radio: stations found by name or tag in a directory that is free to use. Plugin thread.

import { API_VERSION, definePlugin } from "../../src/plugin-api/plugin.ts";
import { RADIO_MANIFEST } from "./manifest.ts";
import { RadioSource } from "./source.ts";

const { name, version, config, sources } = RADIO_MANIFEST;

export default definePlugin({
  name,
  version,
  config,
  apiVersion: API_VERSION,
  setup(host) {
    const source = new RadioSource(host);
    host.addSource({
      ...sources[0],
      load: (request) => source.load(request),
      resolve: (request) => source.resolve(request),
    });
  },
});
