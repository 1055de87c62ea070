// The routes that say how sources and plugins do, and load a plugin anew (docs/reference/rest.md). Main thread.

import { pluginSchema, pluginsSchema, sourcesSchema } from "../protocol/sources-json.ts";
import type { ApiContext } from "./api-context.ts";
import { ApiError } from "./api-error.ts";
import { json, type RestAnswer, type RestRequest, type RestRoute } from "./route.ts";

/** `/v4/tonearm/sources` and `/v4/tonearm/plugins`. */
export function sourceRoutes(context: Pick<ApiContext, "sources">): readonly RestRoute[] {
  const { sources } = context;
  return [
    {
      method: "GET",
      path: "/v4/tonearm/sources",
      handle: () => json(sources.sourcesJson()),
      description: {
        summary: "How the sources do, and the ways on which they reach their sites.",
        answers: { 200: sourcesSchema },
      },
    },
    {
      method: "GET",
      path: "/v4/tonearm/plugins",
      handle: () => json(sources.pluginsJson()),
      description: { summary: "Which plugins there are, and how they do.", answers: { 200: pluginsSchema } },
    },
    {
      method: "POST",
      path: "/v4/tonearm/plugins/:name/reload",
      handle: (request) => reload(context, request),
      description: {
        summary: "Loads a plugin anew from disk while music plays. One that cannot be set up changes nothing.",
        answers: { 200: pluginSchema },
        errors: [404, 503],
      },
    },
  ];
}

async function reload({ sources }: Pick<ApiContext, "sources">, { segments }: RestRequest): Promise<RestAnswer> {
  const plugin = await sources.reload(segments.name ?? "");
  if (plugin === undefined) throw new ApiError(404, "Plugin not found");
  return json(plugin);
}
