// The figures measured of a node in one round: their names and how each is written. docs/benchmarks.md says how each is
// made.

/** By name; one that is missing was not measured. */
export type Figures = Readonly<Partial<Record<FigureName, number>>>;

export type FigureName = keyof typeof FIGURES;

interface FigureText {
  readonly title: string;
  readonly digits: number;
  /** True when two nodes are compared by this figure. Default true. */
  readonly hasRatio?: boolean;
}

/** In the order of the table. */
const FIGURES = {
  cpuPercentPerPlayer: { title: "CPU per player, % of a core", digits: 3 },
  cpuPercent: { title: "CPU of all its processes, % of a core", digits: 1 },
  pssMegabytes: { title: "memory (PSS), MB", digits: 0 },
  pssMegabytesPerPlayer: { title: "the same per player, above rest, MB", digits: 2 },
  residentMegabytes: { title: "memory (RSS), MB", digits: 0 },
  startMs: { title: "start to the first answer, ms", digits: 0 },
  latenessMsP99: { title: "lateness p99, ms", digits: 2 },
  latenessMsMax: { title: "lateness, worst, ms", digits: 1 },
  jitterMs: { title: "jitter (RFC 3550), ms", digits: 2 },
  spacingMsP99: { title: "\u007cinterval - 20 ms\u007c p99, ms", digits: 2 },
  packetsDue: { title: "packets due", digits: 0, hasRatio: false },
  packetsMissing: { title: "packets missing", digits: 0, hasRatio: false },
  framesLeftOut: { title: "of them left out by the node", digits: 0, hasRatio: false },
  packetsLost: { title: "of them lost in transit", digits: 0, hasRatio: false },
  silentFrames: { title: "silent frames", digits: 0, hasRatio: false },
  firstAudioMsP50: { title: "first audio after p50, ms", digits: 1 },
  firstAudioMsP99: { title: "first audio after p99, ms", digits: 1 },
  firstAudioMsMax: { title: "first audio after, worst, ms", digits: 1 },
  neverAudible: { title: "players without audio", digits: 0, hasRatio: false },
  answersPerSecond: { title: "answers a second", digits: 0 },
  answersFailed: { title: "requests that failed", digits: 0, hasRatio: false },
  answerMsP50: { title: "answer after p50, ms", digits: 1 },
  answerMsP99: { title: "answer after p99, ms", digits: 1 },
  listenerCpuPercent: { title: "the listener's CPU, % of a core", digits: 1, hasRatio: false },
  othersPercent: { title: "others on the machine, % of all cores", digits: 1, hasRatio: false },
  stealPercent: { title: "taken by the host, %", digits: 1, hasRatio: false },
  load: { title: "load", digits: 1, hasRatio: false },
} as const satisfies Readonly<Record<string, FigureText>>;

/** All of them, in the table's order. */
export const FIGURE_NAMES = Object.keys(FIGURES) as readonly FigureName[]; // its own keys

/** How one is written. */
export function textOf(name: FigureName): FigureText {
  return FIGURES[name];
}
