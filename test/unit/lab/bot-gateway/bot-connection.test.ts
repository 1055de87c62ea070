import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import { BotConnection } from "../../../../lab/bot-gateway/bot-connection.ts";

const TOKEN = "the bot's token";
const GUILDS = 1;
const VOICE_STATES = 128;
const MESSAGE_CONTENT = 32_768;
const GUILD_ID = "200000000000000001";

/** A bot's end of the connection. */
class Bot extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  readonly received: { readonly op: number; readonly t: string | null; readonly d: unknown }[] = [];
  readonly problems: string[] = [];
  readonly moves: (string | null)[] = [];
  closedWith: number | undefined;
  readonly connection: BotConnection;

  constructor() {
    super();
    const host = {
      token: TOKEN,
      guildFor: (intents: number) => ({ intents }),
      moveBot: (channelId: string | null) => this.moves.push(channelId),
      reportProblem: (what: string) => this.problems.push(what),
      changed: () => undefined,
    };
    this.connection = new BotConnection(host, this as unknown as WebSocket); // as far as it is used
  }

  send(text: string): void {
    this.received.push(JSON.parse(text));
  }

  close(code: number): void {
    this.closedWith = code;
    this.readyState = 3;
  }

  say(text: string): void {
    this.emit("message", Buffer.from(text));
  }

  identify(changes: { readonly token?: string; readonly intents?: number } = {}): void {
    const d = {
      token: TOKEN,
      intents: GUILDS | VOICE_STATES,
      properties: { os: "", browser: "", device: "" },
      ...changes,
    };
    this.say(JSON.stringify({ op: 2, d }));
  }

  get receivedOps(): (string | number)[] {
    return this.received.map(({ op, t }) => t ?? op);
  }
}

test("a bot gets Hello, and after Identify READY and GUILD_CREATE", () => {
  const bot = new Bot();
  expect(bot.receivedOps).toEqual([10]);
  expect(bot.connection.intents).toBeUndefined();
  bot.identify();
  expect(bot.receivedOps).toEqual([10, "READY", "GUILD_CREATE"]);
  expect(bot.received[2]?.d).toEqual({ intents: GUILDS | VOICE_STATES });
  expect(bot.connection.intents).toBe(GUILDS | VOICE_STATES);
});

test("a bot without the guilds intent gets no guild", () => {
  const bot = new Bot();
  bot.identify({ intents: 0 });
  expect(bot.receivedOps).toEqual([10, "READY"]);
});

test.each([
  ["another token", (bot: Bot) => bot.identify({ token: "another" }), 4004],
  ["an intent that is not switched on", (bot: Bot) => bot.identify({ intents: GUILDS | MESSAGE_CONTENT }), 4014],
  ["a second Identify", (bot: Bot) => [bot.identify(), bot.identify()], 4005],
  ["op 4 before Identify", (bot: Bot) => bot.say('{"op":4,"d":{}}'), 4003],
  ["invalid JSON", (bot: Bot) => bot.say("{"), 4002],
  ["an unknown opcode", (bot: Bot) => [bot.identify(), bot.say('{"op":99,"d":null}')], 4001],
])("%s closes the connection", (_what, act, code) => {
  const bot = new Bot();
  act(bot);
  expect(bot.closedWith).toBe(code);
});

test("a heartbeat is answered, and one that acknowledges messages never sent is reported", () => {
  const bot = new Bot();
  bot.identify();
  bot.say('{"op":1,"d":2}');
  expect(bot.receivedOps.at(-1)).toBe(11);
  expect(bot.problems).toEqual([]);
  bot.say('{"op":1,"d":3}');
  expect(bot.problems).toHaveLength(1);
});

test("op 4 moves the bot, with ids as texts or as numbers that JavaScript could not hold", () => {
  const bot = new Bot();
  bot.identify();
  bot.say(`{"op":4,"d":{"guild_id":"${GUILD_ID}","channel_id":null,"self_mute":false,"self_deaf":true}}`);
  bot.say(`{"op":4,"d":{"guild_id": ${GUILD_ID},"channel_id": 300000000000000001,"self_mute":false,"self_deaf":true}}`);
  expect(bot.moves).toEqual([null, "300000000000000001"]);
  bot.say('{"op":4,"d":{"guild_id":"1"}}');
  bot.say('{"op":4,"d":{"guild_id":"200000000000000002","channel_id":null,"self_mute":false,"self_deaf":true}}');
  expect(bot.problems).toEqual([expect.stringContaining("channel_id"), expect.stringContaining("200000000000000002")]);
});
