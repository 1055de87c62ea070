// What each call of the MLS library costs, in a group of a given size: the first in the process, and the median of many
// when warm; and how much of it other threads do. Part of `npm run bench -- dave`.

import { readdirSync } from "node:fs";
import { generateP256Keypair, DAVESession as MlsSession } from "@snazzah/davey";
import { readThreadTimes } from "../../src/lib/thread-cpu.ts";
import { ExternalSender, encodeGroupId, encodeProposals, type Proposal } from "../discord/external-sender.ts";
import { quantile } from "../report/statistics.ts";

const CHANNEL = "6001";
const BOT = "5001";
const LISTENER = "701";
const NEWCOMER = "702";
const FIRST_OTHER = 800;
const FRAME_BYTES = 320;
const FRAMES = 200;
const APPEND = 0;

/** Milliseconds of CPU, by call. */
export type Costs = Map<string, number[]>;

interface CallCost {
  readonly call: string;
  readonly coldMs: number;
  readonly warmMs: number;
}

/** One life of a group with `size` members, ours among them: what each call took is added to `costs`. */
export function liveOnce(costs: Costs, size: number): void {
  const gateway = new ExternalSender(encodeGroupId(CHANNEL));
  const join = (userId: string): MlsSession => {
    const session = new MlsSession(1, userId, CHANNEL);
    session.setExternalSender(gateway.packageBytes);
    return session;
  };
  const others = Array.from({ length: size - 2 }, (_, index) => join(String(FIRST_OTHER + index)));
  const addsOf = (...sessions: MlsSession[]) => sessions.map((session) => addOf(gateway, session, 0n));

  const keyPair = timed(costs, "generateP256Keypair", () => generateP256Keypair());
  const bot = timed(costs, "new DAVESession, with keys", () => new MlsSession(1, BOT, CHANNEL, keyPair));
  const keyPackage = timed(costs, "getSerializedKeyPackage", () => bot.getSerializedKeyPackage());
  timed(costs, "setExternalSender", () => bot.setExternalSender(gateway.packageBytes));
  const listener = join(LISTENER);
  const first = encodeProposals(addsOf(...others, listener));
  timed(costs, "processProposals, first group", () => bot.processProposals(APPEND, first));
  const founding = commitOf(listener, [...addsOf(...others), gateway.add(0n, keyPackage)]);
  listener.processCommit(founding.commit);
  timed(costs, "processWelcome", () => bot.processWelcome(founding.welcome));

  const newcomer = join(NEWCOMER);
  const add = [addOf(gateway, newcomer, 1n)];
  timed(costs, "processProposals, member joins", () => bot.processProposals(APPEND, encodeProposals(add)));
  follow(costs, "processCommit, member joins", { bot, listener, change: add });
  const leaf = size; // behind all others
  const remove = [gateway.remove(2n, leaf)];
  timed(costs, "processProposals, member leaves", () => bot.processProposals(APPEND, encodeProposals(remove)));
  follow(costs, "processCommit, member leaves", { bot, listener, change: remove });

  const frame = Buffer.alloc(FRAME_BYTES, 7);
  timed(costs, "encryptOpus", () => {
    for (let count = 0; count < FRAMES; count++) bot.encryptOpus(frame);
  });
  timed(costs, "setPassthroughMode", () => bot.setPassthroughMode(true));
  timed(costs, "reinit", () => bot.reinit(1, BOT, CHANNEL, keyPair));
}

/** The first of each call, and the middle of the second half. */
export function summaryOf(costs: Costs): readonly CallCost[] {
  return [...costs].map(([call, allMs]) => {
    const share = call === "encryptOpus" ? 1 / FRAMES : 1;
    const warm = allMs.slice(Math.floor(allMs.length / 2));
    return { call, coldMs: (allMs[0] ?? Number.NaN) * share, warmMs: quantile(warm, 0.5) * share };
  });
}

/** CPU milliseconds of the process so far. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** CPU milliseconds so far: of the thread that asks, if it is the process's first, and of all others. */
export function readThreads(): { readonly ownMs: number; readonly othersMs: number } {
  let [ownMs, othersMs] = [0, 0];
  for (const id of readdirSync("/proc/self/task")) {
    const usedMs = readThreadTimes(Number(id))?.cpuMs ?? 0;
    if (Number(id) === process.pid) ownMs = usedMs;
    else othersMs += usedMs;
  }
  return { ownMs, othersMs };
}

function follow(
  costs: Costs,
  name: string,
  { bot, listener, change }: { bot: MlsSession; listener: MlsSession; change: readonly Proposal[] },
): void {
  const { commit } = commitOf(listener, change);
  listener.processCommit(commit);
  timed(costs, name, () => bot.processCommit(commit));
}

function timed<Result>(costs: Costs, call: string, work: () => Result): Result {
  const beforeMs = cpuMs();
  const result = work();
  const all = costs.get(call) ?? [];
  costs.set(call, all);
  all.push(cpuMs() - beforeMs);
  return result;
}

function addOf(gateway: ExternalSender, session: MlsSession, epoch: bigint): Proposal {
  return gateway.add(epoch, session.getSerializedKeyPackage());
}

function commitOf(member: MlsSession, proposals: readonly Proposal[]): { commit: Buffer; welcome: Buffer } {
  const { commit, welcome = Buffer.alloc(0) } = member.processProposals(APPEND, encodeProposals(proposals));
  if (commit === undefined) throw new Error("the proposals did not result in a commit");
  return { commit, welcome };
}
