// The real audio worker, which is lost in the middle of a player's work when that player is given a certain end time:
// it ends, hangs, or fills its memory. Loaded by fragile-node.ts as the audio worker's entry. Audio thread.

import { BroadcastChannel, parentPort } from "node:worker_threads";
import { type Activity, Heartbeat } from "../../../src/bridge/heartbeat.ts";
import { STRIKES, STRUCK_CHANNEL, type WorkerStrike } from "./strikes.ts";
import "../../../src/media/main.ts";

/** By the number of the player. */
const armed = new Map<number, WorkerStrike>();
const struck = new BroadcastChannel(STRUCK_CHANNEL);
struck.unref();

parentPort?.on("message", ({ type, endMs, playerId }: { type?: string; endMs?: number; playerId?: number }) => {
  const strike = STRIKES.find((one) => one.endMs === endMs);
  if (type === "setEndTime" && strike !== undefined && playerId !== undefined) armed.set(playerId, strike);
});

const { enter } = Heartbeat.prototype;
Heartbeat.prototype.enter = function (owner: number, activity: Activity): void {
  enter.call(this, owner, activity);
  const strike = activity === "prepare" ? armed.get(owner) : undefined;
  if (strike === undefined) return;
  armed.delete(owner);
  struck.postMessage(owner);
  strikeWith(strike);
};

function strikeWith({ name }: WorkerStrike): void {
  if (name === "ends") process.exit(1);
  const retained: unknown[] = [];
  for (;;) if (name === "fills its memory") retained.push(Array.from({ length: 100_000 }, () => ({})));
}
