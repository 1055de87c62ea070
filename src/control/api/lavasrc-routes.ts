// The route of Lavalink's plugin LavaSrc that changes settings of its services while they run (protocol-v4.md section
// 8.2): here, options of the built-in plugins that have these services. Main thread.

import { z } from "zod";
import type { JsonObject, JsonValue } from "../../lib/json.ts";
import { booleanField, int32Field, listField, textField } from "../protocol/json-fields.ts";
import type { ApiContext } from "./api-context.ts";
import type { RestAnswer, RestRequest, RestRoute } from "./route.ts";

const ARGUMENTS_MAX = 200;
/** Options of ytdlp that only the configuration can set: they name a program and its arguments. */
const FIXED = ["path", "customLoadArgs", "customPlaybackArgs"];
/** The largest limits that ytdlp takes. */
const LIMITS_MAX = {
  searchLimit: 100,
  playlistLoadLimit: 10_000,
  mixPlaylistLoadLimit: 1000,
};

const text = textField.nullable().optional();
const flag = booleanField.nullable().optional();
const count = int32Field.nullable().optional();
const texts = listField(textField, { countMax: ARGUMENTS_MAX }).nullable().optional();
const appleMusic = z.object({ mediaAPIToken: text }).nullable().optional();

/** Those of other services are dropped: they are not there, or, like Deezer's, without effect. */
const configBody = z
  .object({
    spotify: z
      .object({
        clientId: text,
        clientSecret: text,
        spDc: text,
        preferPartnerApi: flag,
        preferV1SearchApi: flag,
        customTokenEndpoint: text,
      })
      .nullable()
      .optional(),
    appleMusic,
    /** The spelling of LavaSrc's README. */
    applemusic: appleMusic,
    ytdlp: z
      .object({
        path: text,
        searchLimit: count,
        playlistLoadLimit: count,
        mixPlaylistLoadLimit: count,
        customLoadArgs: texts,
        customPlaybackArgs: texts,
      })
      .nullable()
      .optional(),
  })
  .meta({ id: "LavaSrcConfig" });

type Context = Pick<ApiContext, "sources" | "logger">;

/** `/v4/lavasrc/config`. */
export function lavaSrcRoutes(context: Context): readonly RestRoute[] {
  return [
    {
      method: "PATCH",
      path: "/v4/lavasrc/config",
      access: "operator",
      isBodySecret: true,
      handle: (request) => update(context, request),
      description: {
        summary: "Changes options of the services that LavaSrc has, until the node's next start.",
        body: configBody,
        answers: { 200: "empty" },
        errors: [503],
      },
    },
  ];
}

/** Plugins that are off are left alone, as published. */
async function update({ sources, logger }: Context, request: RestRequest): Promise<RestAnswer> {
  const body = request.body(configBody);
  const { clientId, clientSecret, ...spotify } = body.spotify ?? {};
  const areBoth = isGiven(clientId) && isGiven(clientSecret);
  if (!areBoth && (isGiven(clientId) || isGiven(clientSecret))) {
    logger.warn("PATCH /v4/lavasrc/config: spotify.clientId and clientSecret have an effect only together");
  }
  const ytdlp = givenOf(body.ytdlp ?? {});
  for (const name of FIXED.filter((fixed) => fixed in ytdlp)) {
    logger.warn(`PATCH /v4/lavasrc/config: ytdlp.${name} can only be set in the configuration: ignored`);
  }
  // The one that may refuse is the first, as changes that were made before an error stay.
  const changes = {
    spotify: { ...spotify, ...(areBoth && { clientId, clientSecret }) },
    ytdlp: limitsIn(ytdlp),
    applemusic: { ...body.appleMusic, ...body.applemusic },
  };
  for (const [plugin, members] of Object.entries(changes)) {
    const given = givenOf(members);
    if (Object.keys(given).length > 0) await sources.change(plugin, given);
  }
  return { kind: "empty", status: 200 };
}

type Members = Readonly<Record<string, JsonValue | undefined>>;

/** Published: null changes nothing. */
function givenOf(members: Members): JsonObject {
  return Object.fromEntries(Object.entries(members).filter((entry): entry is [string, JsonValue] => isGiven(entry[1])));
}

/** Published: a limit below 1 changes nothing, and none is too large. */
function limitsIn(ytdlp: JsonObject): JsonObject {
  const limits = Object.entries(LIMITS_MAX).map(
    ([name, max]) => [name, Math.min(Number(ytdlp[name] ?? 0), max)] as const,
  );
  return Object.fromEntries(limits.filter(([, limit]) => limit >= 1));
}

function isGiven<Value>(value: Value): value is NonNullable<Value> {
  return value !== undefined && value !== null;
}
