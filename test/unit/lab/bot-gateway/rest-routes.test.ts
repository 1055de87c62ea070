import { describe, expect, test } from "vitest";
import type { Command } from "../../../../lab/bot-gateway/bot-messages.ts";
import { answerBot, type BotRequest, type Interaction } from "../../../../lab/bot-gateway/rest-routes.ts";

const TOKEN = "the bot's token";
const COMMANDS = "/applications/100000000000000001/commands";
const CALLBACK = "/interactions/600000000000000001/interaction-token/callback";
const ANSWER = "/webhooks/100000000000000001/interaction-token/messages/@original";

class World {
  readonly token = TOKEN;
  readonly interactions: Interaction[] = [
    { id: "600000000000000001", token: "interaction-token", state: "new", answer: "" },
  ];
  readonly problems: string[] = [];
  commands: readonly Command[] = [];

  register(commands: readonly Command[]): void {
    this.commands = commands;
  }

  reportProblem(what: string): void {
    this.problems.push(what);
  }

  changed(): void {}

  ask(method: string, path: string, body?: unknown, authorization = `Bot ${TOKEN}`): { status: number; json?: object } {
    const request: BotRequest = { method, path, body, authorization, query: new URLSearchParams() };
    return answerBot(this, request);
  }
}

describe("routes of the bot", () => {
  test("a route of the bot is refused with another token, or without", () => {
    const world = new World();
    expect(world.ask("GET", "/gateway/bot", undefined, "Bot another").status).toBe(401);
    expect(world.ask("GET", "/gateway/bot", undefined, TOKEN).status).toBe(401);
    expect(world.ask("GET", "/gateway/bot")).toMatchObject({ status: 200, json: { url: "wss://gateway.discord.gg" } });
    expect(world.problems).toEqual([]);
  });

  test("a request to an unknown route is reported", () => {
    const world = new World();
    expect(world.ask("GET", "/guilds/1").status).toBe(404);
    expect(world.problems).toEqual([expect.stringContaining("GET /guilds/1")]);
  });
});

describe("commands", () => {
  const play = { name: "play", description: "Play something" };

  test("commands are registered, and returned with their ids", () => {
    const world = new World();
    const { status, json } = world.ask("PUT", COMMANDS, [play]);
    expect({ status, json }).toMatchObject({ status: 200, json: [{ ...play, id: "500000000000000001" }] });
    expect(world.commands).toEqual([play]);
  });

  test.each([
    { name: "Play", description: "In capitals" },
    { name: "play" },
    { name: "play", description: "x".repeat(101) },
    { name: "play", description: "An option of no type", options: [{ name: "query", description: "Words" }] },
  ])("a command that Discord would refuse is refused: %j", (command) => {
    const world = new World();
    expect(world.ask("PUT", COMMANDS, [command])).toMatchObject({ status: 400, json: { code: 50_035 } });
    expect(world.commands).toEqual([]);
    expect(world.problems).toHaveLength(1);
  });
});

describe("an interaction", () => {
  test("an interaction is answered at once, or deferred and then answered", () => {
    const atOnce = new World();
    expect(atOnce.ask("POST", CALLBACK, { type: 4, data: { content: "Playing" } }, "").status).toBe(204);
    expect(atOnce.interactions[0]).toMatchObject({ state: "answered", answer: "Playing" });
    const later = new World();
    expect(later.ask("POST", CALLBACK, { type: 5 }, "").status).toBe(204);
    expect(later.interactions[0]?.state).toBe("deferred");
    expect(later.ask("PATCH", ANSWER, { content: "Playing" }, "").status).toBe(200);
    expect(later.interactions[0]).toMatchObject({ state: "answered", answer: "Playing" });
  });

  test("an interaction has one first answer, and none is edited before", () => {
    const world = new World();
    expect(world.ask("PATCH", ANSWER, { content: "Playing" }).status).toBe(404);
    world.ask("POST", CALLBACK, { type: 5 });
    expect(world.ask("POST", CALLBACK, { type: 5 })).toMatchObject({ status: 400, json: { code: 40_060 } });
    expect(world.problems).toHaveLength(2);
  });

  test("an interaction cannot be answered with an empty message, nor with one that is too long", () => {
    const world = new World();
    expect(world.ask("POST", CALLBACK, { type: 4, data: { content: "" } }).status).toBe(400);
    expect(world.ask("POST", CALLBACK, { type: 4, data: { content: "x".repeat(2001) } }).status).toBe(400);
    expect(world.interactions[0]?.state).toBe("new");
  });
});
