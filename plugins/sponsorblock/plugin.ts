// Skips the segments of videos that SponsorBlock's users have marked: sponsors, intros and the like. Plugin thread.

import { API_VERSION, definePlugin, type RouteAnswer } from "../../src/plugin-api/plugin.ts";
import { CATEGORIES_BODY, CATEGORIES_PATH, SPONSORBLOCK_MANIFEST } from "./manifest.ts";
import { categoriesOf, Skipper } from "./skipper.ts";

const { name, version, config, aliases, routes } = SPONSORBLOCK_MANIFEST;

const EMPTY: RouteAnswer = { status: 200 };
const UNASKED =
  "option categories: clients that asked for nothing get the events of SponsorBlock, too; bots with Poru 4 or 5 crash on" +
  " events that they do not know: for them leave it empty";

export default definePlugin({
  name,
  version,
  config,
  apiVersion: API_VERSION,
  setup(host) {
    for (const alias of aliases) host.addAlias(alias.name, alias.version);
    if (host.options.categories.length > 0) host.log.info(UNASKED);
    const skipper = new Skipper(host);
    host.onEvent((event) => skipper.onEvent(event));
    const [get, put, remove] = routes;
    host.addRoute({
      ...get,
      path: CATEGORIES_PATH,
      handle: async ({ segments }) => {
        const categories = await skipper.categoriesOf(guildOf(segments));
        return categories === undefined ? { status: 404, message: "Guild not found" } : { json: [...categories] };
      },
    });
    host.addRoute({
      ...put,
      path: CATEGORIES_PATH,
      body: CATEGORIES_BODY,
      handle: async ({ segments, body }) => {
        const isSet = await skipper.setCategories(guildOf(segments), categoriesOf(body.categories));
        return isSet ? EMPTY : { status: 404, message: "Session not found" };
      },
    });
    host.addRoute({
      ...remove,
      path: CATEGORIES_PATH,
      handle: async ({ segments }) => {
        await skipper.setCategories(guildOf(segments), undefined);
        return EMPTY;
      },
    });
  },
});

/** The node gives both to routes below players. */
function guildOf({ sessionId = "", guildId = "" }: Readonly<Record<string, string>>) {
  return { sessionId, guildId };
}
