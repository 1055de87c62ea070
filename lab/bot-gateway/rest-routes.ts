// The part of Discord's REST API (v10) that a bot with slash commands uses. Answers are Discord's, errors with their
// status and code.

import type { z } from "zod";
import { type Command, commandList, interactionCallback, messageEdit } from "./bot-messages.ts";
import { applicationJson, BOT_ID, commandJson, messageJson, userJson } from "./guild.ts";

/** One request of a bot. */
export interface BotRequest {
  readonly method: string;
  /** Path without `/api/v10`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly authorization: string | undefined;
  /** Parsed JSON; undefined: none, or invalid. */
  readonly body: unknown;
}

interface BotAnswer {
  readonly status: number;
  /** Undefined: no body. */
  readonly json?: object;
}

/** A command that a member typed, and its state. */
export interface Interaction {
  readonly id: string;
  readonly token: string;
  /** `deferred`: the bot has announced an answer. */
  state: "new" | "deferred" | "answered";
  answer: string;
}

/** The state that the routes work on. */
export interface RestWorld {
  readonly token: string;
  readonly interactions: readonly Interaction[];
  register(commands: readonly Command[]): void;
  reportProblem(what: string): void;
  changed(): void;
}

const UNAUTHORIZED: BotAnswer = { status: 401, json: { message: "401: Unauthorized", code: 0 } };
const NOT_FOUND: BotAnswer = { status: 404, json: { message: "404: Not Found", code: 0 } };
const SESSION_STARTS = { total: 1000, remaining: 1000, reset_after: 0, max_concurrency: 1 };

export function answerBot(world: RestWorld, request: BotRequest): BotAnswer {
  const [first, second = "", third, ...rest] = request.path.split("/").slice(1);
  // The token of an interaction is in its path, and is the only authorization needed.
  if (first === "interactions" && rest.join() === "callback") {
    return answerInteraction(world, request, { id: second, token: third });
  }
  if (first === "webhooks" && second === BOT_ID && rest.join("/") === "messages/@original") {
    return editAnswer(world, request, third);
  }
  if (request.authorization !== `Bot ${world.token}`) return UNAUTHORIZED;
  return answerAccount(world, request);
}

/** Routes on which a bot asks about itself and its commands. */
function answerAccount(world: RestWorld, { method, path, body }: BotRequest): BotAnswer {
  switch (`${method} ${path}`) {
    case "GET /gateway/bot":
      return { status: 200, json: { url: "wss://gateway.discord.gg", shards: 1, session_start_limit: SESSION_STARTS } };
    case "GET /users/@me":
      return { status: 200, json: userJson(BOT_ID) };
    case "GET /oauth2/applications/@me":
      return { status: 200, json: applicationJson() };
    case `PUT /applications/${BOT_ID}/commands`: {
      const { data, error } = commandList.safeParse(body);
      if (data === undefined) return refuse(world, "the list of commands", error);
      world.register(data);
      return { status: 200, json: data.map(commandJson) };
    }
    default:
      world.reportProblem(`${method} ${path}, which is not implemented`);
      return NOT_FOUND;
  }
}

function answerInteraction(
  world: RestWorld,
  { method, query, body }: BotRequest,
  { id, token }: { readonly id: string; readonly token: string | undefined },
): BotAnswer {
  const interaction = world.interactions.find((known) => known.id === id && known.token === token);
  if (method !== "POST" || interaction === undefined) {
    world.reportProblem(`${method} of the answer to unknown interaction ${id}`);
    return { status: 404, json: { message: "Unknown interaction", code: 10_062 } };
  }
  if (interaction.state !== "new") {
    world.reportProblem("a second first answer to an interaction");
    return { status: 400, json: { message: "Interaction has already been acknowledged.", code: 40_060 } };
  }
  const { data, error } = interactionCallback.safeParse(body);
  if (data === undefined) return refuse(world, "the answer to an interaction", error);
  interaction.state = data.type === 4 ? "answered" : "deferred";
  interaction.answer = data.type === 4 ? data.data.content : "";
  world.changed();
  if (!["1", "true"].includes(query.get("with_response") ?? "")) return { status: 204 };
  const message = { id, response_message_id: id, type: 2, response_message_loading: data.type === 5 };
  return { status: 200, json: { interaction: message } };
}

function editAnswer(world: RestWorld, { method, body }: BotRequest, token: string | undefined): BotAnswer {
  const interaction = world.interactions.find((known) => known.token === token && known.state !== "new");
  if (method !== "PATCH" || interaction === undefined) {
    world.reportProblem(`${method} of a missing answer`);
    return { status: 404, json: { message: "Unknown Webhook", code: 10_015 } };
  }
  const { data, error } = messageEdit.safeParse(body);
  if (data === undefined) return refuse(world, "the edited answer", error);
  interaction.state = "answered";
  interaction.answer = data.content;
  world.changed();
  return { status: 200, json: messageJson(interaction.id, data.content) };
}

function refuse(world: RestWorld, what: string, error: z.ZodError): BotAnswer {
  world.reportProblem(`${what}: ${error.message}`);
  return { status: 400, json: { message: "Invalid Form Body", code: 50_035, errors: {} } };
}
