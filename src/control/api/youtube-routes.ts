// The routes of Lavalink's youtube-plugin that operators' scripts use to renew its tokens (protocol-v4.md section 8.3):
// they change options of our own plugin and query it. `/youtube/stream` is left out: no audio passes through the main
// thread. Main thread.

import { z } from "zod";
import type { JsonObject } from "../../lib/json.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { Json } from "../../plugin-api/plugin.ts";
import { booleanField, textField } from "../protocol/json-fields.ts";
import { text } from "../protocol/json-of.ts";
import type { ApiContext, SourceControl } from "./api-context.ts";
import { ApiError } from "./api-error.ts";
import { json, type RestAnswer, type RestRequest, type RestRoute } from "./route.ts";

const PLUGIN = "youtube";

const updateBody = z
  .object({
    refreshToken: textField.nullable().optional(),
    skipInitialization: booleanField.optional(),
    poToken: textField.nullable().optional(),
    visitorData: textField.nullable().optional(),
  })
  .meta({ id: "YoutubeUpdate" });
type Update = z.output<typeof updateBody>;

const statusSchema = z.strictObject({ refreshToken: text.nullable() }).meta({ id: "YoutubeStatus" });
const tokenSchema = z
  .strictObject({ access_token: text, expires_in: z.number(), scope: text, token_type: text })
  .meta({ id: "YoutubeToken" });

/** `/youtube` and below, without a version. They are there without the plugin as well, and say that it is off. */
export function youtubeRoutes({ sources }: Pick<ApiContext, "sources">): readonly RestRoute[] {
  return [
    {
      method: "GET",
      path: "/youtube",
      access: "operator",
      handle: async () => json({ refreshToken: await call(sources, "refreshToken", null) }),
      description: {
        summary: "The refresh token of the login that YouTube's TV client uses.",
        answers: { 200: statusSchema },
        errors: [400, 500],
      },
    },
    {
      method: "POST",
      path: "/youtube",
      access: "operator",
      isBodySecret: true,
      handle: (request) => update(sources, request),
      description: {
        summary: "Sets tokens of YouTube until the node's next start. Without poToken or visitorData both are cleared.",
        body: updateBody,
        answers: { 204: "empty" },
        errors: [500, 503],
      },
    },
    {
      method: "GET",
      path: "/youtube/oauth/:refreshToken",
      access: "operator",
      handle: async ({ segments }) => json(await call(sources, "exchange", segments.refreshToken ?? "")),
      description: {
        summary: "YouTube's answer to a refresh token.",
        answers: { 200: tokenSchema },
        errors: [400, 500],
      },
    },
  ];
}

async function update(sources: SourceControl, request: RestRequest): Promise<RestAnswer> {
  const body = request.body(updateBody);
  const { refreshToken } = body;
  // One that is not accepted changes nothing.
  if (refreshToken) await call(sources, "exchange", refreshToken);
  else if (refreshToken !== undefined) await call(sources, "forgetLogin", null);
  const plugin = await sources.change(PLUGIN, { ...loginOf(body), ...originOf(body) });
  if (plugin === undefined) throw notRegistered();
  return { kind: "empty", status: 204 };
}

/** Left out: nothing changes. Empty options count as not set, also where the configuration sets them. */
function loginOf({ refreshToken, skipInitialization = true }: Update): JsonObject {
  if (refreshToken === undefined) return {};
  return { oauth: { enabled: true, refreshToken: refreshToken ?? "", skipInitialization } };
}

/** Published: one that is missing clears both, one that is empty leaves both as they are. */
function originOf({ poToken, visitorData }: Update): JsonObject {
  if (poToken === undefined || poToken === null || visitorData === undefined || visitorData === null) {
    return { pot: { token: "", visitorData: "" } };
  }
  return poToken === "" || visitorData === "" ? {} : { pot: { token: poToken, visitorData } };
}

/** The plugin's answer. Every failure there is a 500, as published. */
async function call(sources: SourceControl, name: string, argument: Json): Promise<Json> {
  let value: Json | undefined;
  try {
    value = await sources.call(PLUGIN, name, argument);
  } catch (error) {
    throw new ApiError(500, messageOf(error), { cause: error });
  }
  if (value === undefined) throw notRegistered();
  return value;
}

function notRegistered(): ApiError {
  return new ApiError(400, "The YouTube source manager is not registered.");
}
