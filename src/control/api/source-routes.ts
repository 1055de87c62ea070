// The routes that report the state of sources and plugins, reload a plugin and change its options
// (docs/reference/rest.md). Main thread.

import { orOfMachines } from "../protocol/machine-answers-json.ts";
import { type PluginJson, pluginSchema, pluginsSchema, sourcesSchema } from "../protocol/sources-json.ts";
import type { ApiContext } from "./api-context.ts";
import { ApiError } from "./api-error.ts";
import { pluginOptionsBody } from "./request-bodies.ts";
import { json, MACHINES_PARAMETER, type RestAnswer, type RestRequest, type RestRoute } from "./route.ts";

/** `/v4/tonearm/sources` and `/v4/tonearm/plugins`. */
export function sourceRoutes(context: Pick<ApiContext, "sources">): readonly RestRoute[] {
  const { sources } = context;
  return [
    {
      method: "GET",
      path: "/v4/tonearm/sources",
      access: "viewer",
      handle: () => json(sources.sourcesJson()),
      ofMachines: () => ({}),
      description: {
        summary: "The health of the sources, and of the backends through which they reach their sites.",
        query: [MACHINES_PARAMETER],
        answers: { 200: orOfMachines(sourcesSchema) },
        errors: [400],
      },
    },
    {
      method: "GET",
      path: "/v4/tonearm/plugins",
      access: "viewer",
      handle: () => json(sources.pluginsJson()),
      ofMachines: () => ({}),
      description: {
        summary: "Which plugins there are, and how they do.",
        query: [MACHINES_PARAMETER],
        answers: { 200: orOfMachines(pluginsSchema) },
        errors: [400],
      },
    },
    {
      method: "POST",
      path: "/v4/tonearm/plugins/:name/reload",
      access: "operator",
      handle: (request) => reload(context, request),
      description: {
        summary: "Reloads a plugin from disk while music plays. If its set-up fails, nothing changes.",
        answers: { 200: pluginSchema },
        errors: [404, 503],
      },
    },
    {
      method: "PATCH",
      path: "/v4/tonearm/plugins/:name/options",
      access: "operator",
      isBodySecret: true,
      handle: (request) => change(context, request),
      description: {
        summary: "Changes options of a plugin until the node's next start, and sets it up again with them.",
        body: pluginOptionsBody,
        answers: { 200: pluginSchema },
        errors: [404, 503],
      },
    },
  ];
}

async function reload({ sources }: Pick<ApiContext, "sources">, { segments }: RestRequest): Promise<RestAnswer> {
  return answer(await sources.reload(segments.name ?? ""));
}

async function change({ sources }: Pick<ApiContext, "sources">, request: RestRequest): Promise<RestAnswer> {
  const changes = request.body(pluginOptionsBody);
  return answer(await sources.change(request.segments.name ?? "", changes));
}

function answer(plugin: PluginJson | undefined): RestAnswer {
  if (plugin === undefined) throw new ApiError(404, "Plugin not found");
  return json(plugin);
}
