// The modes in which fragile-audio.ts can be lost, and the end time that triggers each.

export interface WorkerStrike {
  readonly name: "ends" | "hangs" | "fills its memory";
  /** Far behind the end of any song: without meaning but for fragile-audio.ts. */
  readonly endMs: number;
}

export const STRIKES: readonly WorkerStrike[] = [
  { name: "ends", endMs: 86_400_001 },
  { name: "hangs", endMs: 86_400_002 },
  { name: "fills its memory", endMs: 86_400_003 },
];

/** Where the thread says for which player it was at work when it was struck. */
export const STRUCK_CHANNEL = "tonearm-lab-struck";
