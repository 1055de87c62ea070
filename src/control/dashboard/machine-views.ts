// What the machines of a cluster tell each other for the dashboard of any of them: how each is, its players and sessions,
// as far as a view asks for them; and actions on a player of another machine. Main thread.

import { z } from "zod";
import { NodeError } from "../../errors.ts";
import type { Logger } from "../../log/log.ts";
import type { MachineReport, MachineReports } from "../cluster/machine-reports.ts";
import { readJson } from "../cluster/read-json.ts";
import { type ActionParts, carryOut } from "./actions.ts";
import type { PlayerAction, PlayerReference, StateMessage, ViewMessage } from "./live-messages.ts";
import { type LiveParts, readState, SESSIONS_MAX } from "./live-state.ts";

/** Players that each machine lists for a page: those beyond are found by a filter. */
export const LISTED_MAX = 2000;
export const TEXT_LENGTH_MAX = 200;

const playerReferenceFields = { sessionId: z.string().max(64), guildId: z.string().max(20) };
export const playerReference: z.ZodType<PlayerReference> = z.strictObject(playerReferenceFields);
export const playerActionSchema = z.strictObject({
  kind: z.enum(["pause", "resume", "skip", "stop"]),
  machineId: z.string().max(64).optional(),
  ...playerReferenceFields,
});

/** What a machine is asked for: its first `count` players of a view. */
const questionSchema = z.object({
  filter: z.string().max(TEXT_LENGTH_MAX),
  onlyTrouble: z.boolean(),
  count: z.int().min(1).max(LISTED_MAX),
  focus: playerReference.nullable(),
});

/** The answer: of its state what a page about all machines shows. */
export type MachineView = Pick<
  StateMessage,
  "stats" | "load" | "stored" | "cluster" | "isDraining" | "players" | "sessions" | "focus"
>;

const rowSchema = z.looseObject({
  sessionId: z.string(),
  guildId: z.string(),
  track: z.looseObject({ title: z.string(), isStream: z.boolean(), lengthMs: z.number() }).nullable(),
  positionMs: z.number(),
  isPaused: z.boolean(),
  isConnected: z.boolean(),
  mode: z.string().nullable(),
  lastIncident: z
    .looseObject({ cause: z.string(), start: z.number(), length: z.number(), isOver: z.boolean() })
    .nullable(),
});

/** What is read of an answer here. Another version may say more, or what only the page reads in another way. */
const answerSchema = z.looseObject({
  stats: z.looseObject({
    playingPlayers: z.number(),
    uptime: z.number(),
    memory: z.looseObject({ used: z.number() }),
    cpu: z.looseObject({ lavalinkLoad: z.number() }),
  }),
  load: z.looseObject({ hasCapacity: z.boolean() }),
  stored: z.looseObject({ kind: z.string() }),
  cluster: z.looseObject({ status: z.looseObject({ kind: z.string() }) }),
  isDraining: z.boolean(),
  players: z.looseObject({ total: z.number(), matching: z.number(), rows: z.array(rowSchema).max(LISTED_MAX) }),
  sessions: z
    .array(z.looseObject({ id: z.string(), isConnected: z.boolean(), players: z.number(), playing: z.number() }))
    .max(SESSIONS_MAX),
  focus: z.looseObject({ guildId: z.string() }).nullable(),
});

/** Another machine: `view` is undefined where it has not answered, for that reason. */
export interface OtherView extends Pick<MachineReport, "machine"> {
  readonly view: MachineView | undefined;
  readonly reason: string;
}

interface ServeOptions {
  readonly parts: LiveParts & ActionParts;
  readonly clock: { epochMs(): number };
  readonly logger: Logger;
}

/** Answers the dashboards of other machines from now on. */
export function serveViews(reports: Pick<MachineReports, "serve">, { parts, clock, logger }: ServeOptions): void {
  reports.serve("dashboard", async (request) => {
    const asked = questionSchema.parse(readJson(request));
    const view: ViewMessage = { type: "view", ...asked, offset: 0, logLevel: null };
    const { stats, load, stored, cluster, isDraining, players, sessions, focus } = readState(
      parts,
      view,
      clock.epochMs(),
    );
    // Which of its threads does what is on its own page.
    const shown: MachineView = {
      stats,
      load: { ...load, workers: [] },
      stored,
      cluster,
      isDraining,
      players,
      sessions,
      focus,
    };
    return JSON.stringify(shown);
  });
  reports.serve("act", async (request) => {
    const action = playerActionSchema.parse(readJson(request));
    logger.info("dashboard action from another machine", { ...action });
    await carryOut(parts, action);
    return "";
  });
}

/**
 * What all other machines answer about a view.
 * @throws NodeError "requests-busy"
 */
export async function askViews(
  reports: Pick<MachineReports, "askOthers">,
  { filter, onlyTrouble, offset, count, focus }: ViewMessage,
): Promise<readonly OtherView[]> {
  const question = { filter, onlyTrouble, count: listedCountOf({ offset, count }), focus };
  const answers = await reports.askOthers("dashboard", JSON.stringify(question));
  return answers.map(({ machine, answer }) => {
    if (answer.kind === "silent") return { machine, view: undefined, reason: answer.reason };
    const read = answerSchema.safeParse(readJson(answer.text));
    // Beyond that it is of the same contract.
    if (read.success) return { machine, view: read.data as unknown as MachineView, reason: "" };
    return { machine, view: undefined, reason: "its answer has another form: it has another version" };
  });
}

/** How many players each machine is to list, so that those of a page are among them. */
export function listedCountOf({ offset, count }: Pick<ViewMessage, "offset" | "count">): number {
  return Math.min(offset + count, LISTED_MAX);
}

/** @throws NodeError that says why the other machine has not done it, or may not have */
export async function actElsewhere(
  reports: Pick<MachineReports, "act">,
  { machineId = "", ...action }: PlayerAction,
): Promise<void> {
  try {
    await reports.act(machineId, JSON.stringify(action));
  } catch (error) {
    if (error instanceof NodeError) throw error;
    throw new NodeError("cluster-away", "the machine of the player has failed; its log says more", { cause: error });
  }
}
