// The node: capacity, memory, processor, and its audio workers with their headroom. In the browser.

import type { StateMessage } from "../../src/control/dashboard/live-messages.ts";
import type { WorkerLoadJson } from "../../src/control/protocol/node-load-json.ts";
import type { NodeSample } from "../../src/observability/status/node-history.ts";
import { bytes, counted, duration, percent, wholeNumber } from "../state/format.ts";
import { lossRateOf } from "../state/history.ts";
import { CLUSTER_TROUBLES, LATE_WORKERS } from "../state/words.ts";
import { HistoryChart } from "./history-chart.tsx";
import type { PageProps } from "./page-props.ts";
import { Badge, Fact, HeadRow, type Mood, PageTitle, WideTable } from "./pieces.tsx";
import { SharedIncidents } from "./shared-incidents.tsx";

const MEGABYTE = 1_000_000;
/** From here on a worker's newcomers are few. */
const [LOAD_WARN, LOAD_BAD] = [0.6, 0.85];
/** From here on threads wait for each other. */
const CPU_WARN = 0.9;
/** A frame lies ready for some 100 ms; 80 ms too late it is dropped. */
const [LATE_WARN_MS, LATE_BAD_MS] = [20, 80];

/** Shows whether the node is healthy and has capacity. */
export function NodePage(props: PageProps) {
  const { latest, history } = props.known;
  if (latest === null) return null;
  return (
    <section>
      <PageTitle>Node</PageTitle>
      <Summary latest={latest} />
      {(isFull(latest.stats.cpu) || latest.load.workers.some(isLate)) && <p class="prose">{LATE_WORKERS}</p>}
      {props.canAct && <Actions {...props} isDraining={latest.isDraining} />}
      <h2>Workers</h2>
      <Workers workers={latest.load.workers} />
      <SharedIncidents incidents={latest.load.sharedIncidents} />
      <h2>History</h2>
      <p class="quiet">A value a minute for the last hour, and a value a second since this page was opened.</p>
      <Charts points={history.points} workers={latest.load.workers} />
    </section>
  );
}

function Summary({ latest }: { readonly latest: StateMessage }) {
  const { stats, load, isDraining } = latest;
  const { memory, cpu } = stats;
  const { complexity, complexityMax } = load.encoder;
  return (
    <dl class="facts">
      <Fact name="New players">
        {isDraining ? (
          <Badge mood="warn">refused: draining</Badge>
        ) : load.hasCapacity ? (
          <Badge mood="good">available</Badge>
        ) : (
          <Badge mood="bad">refused: no capacity</Badge>
        )}
      </Fact>
      <Fact name="Players">
        {wholeNumber(stats.playingPlayers)} playing of {wholeNumber(stats.players)}
      </Fact>
      <Fact name="Up for">{duration(stats.uptime)}</Fact>
      <Fact name="Memory">
        {bytes(memory.used)} used, {bytes(memory.allocated)} allocated
      </Fact>
      <Fact name="Processor">{isFull(cpu) ? <Badge mood="warn">{processorText(cpu)}</Badge> : processorText(cpu)}</Fact>
      <Fact name="Encoder complexity">
        {complexity < complexityMax ? (
          <Badge mood="warn">
            {complexity} of {complexityMax}: turned down to save time
          </Badge>
        ) : (
          complexity
        )}
      </Fact>
      <Fact name="Spare worker">
        {load.hasSpareWorker ? "waits to take over" : <Badge mood="warn">none yet</Badge>}
      </Fact>
      <Fact name="State">
        <Stored status={latest.stored} />
      </Fact>
      {latest.cluster.status.kind !== "disabled" && (
        <Fact name="Cluster">
          <Cluster {...latest.cluster} />
        </Fact>
      )}
      <Fact name="Refused so far">{counted(load.refused, "start")}</Fact>
      <Fact name="Moved while playing">{counted(load.moved, "player")}</Fact>
    </dl>
  );
}

/** Whether sessions and players outlive a restart. */
function Stored({ status }: { readonly status: StateMessage["stored"] }) {
  switch (status.kind) {
    case "working":
      return "stored";
    case "disabled":
      return "not stored: switched off";
    case "off":
    case "failing":
      return (
        <>
          <Badge mood="warn">not stored</Badge> {status.reason}
        </>
      );
  }
}

/** Whether sessions are shared with other machines. */
function Cluster({ status, machineCount }: StateMessage["cluster"]) {
  const machines = counted(machineCount, "machine");
  if (!("reason" in status)) return `${status.kind}, ${machines}`;
  return (
    <>
      <Badge mood={status.kind === "joining" ? "warn" : "bad"}>{CLUSTER_TROUBLES[status.kind]}</Badge> {status.reason}
    </>
  );
}

function Actions({ ask, isLive, isDraining }: PageProps & { readonly isDraining: boolean }) {
  return (
    <p class="buttons">
      <button
        type="button"
        disabled={!isLive}
        aria-pressed={isDraining}
        onClick={() => ask({ kind: "drain", isOn: !isDraining }, "")}
      >
        {isDraining ? "Stop draining…" : "Drain…"}
      </button>
      <button type="button" disabled={!isLive} onClick={() => ask({ kind: "downloadSupport" }, "")}>
        Support bundle…
      </button>
    </p>
  );
}

function Workers({ workers }: { readonly workers: readonly WorkerLoadJson[] }) {
  const names = [
    ...["Worker", "State", "Load", "Load by frames", "Lateness (99 %)", "Latest frame"],
    ...["Playing", "Frames sent", "Frames lost"],
  ];
  if (workers.length === 0) return <p class="none">None runs yet: they start with the first client.</p>;
  return (
    <WideTable label="Workers">
      <HeadRow names={names} />
      <tbody>
        {workers.map((worker) => (
          <tr key={worker.index}>
            <th scope="row">{worker.index}</th>
            <td>
              <Badge mood={worker.isReady ? "good" : "warn"}>
                {worker.isReady ? "ready" : "starting"}
                {worker.isIsolated && ", isolated"}
              </Badge>
            </td>
            <td class="number">
              <Badge mood={moodOf(worker.load, LOAD_WARN, LOAD_BAD)}>{percent(worker.load)}</Badge>
            </td>
            <td class="number">{percent(worker.tickLoad)}</td>
            <td class="number">{duration(worker.latenessP99)}</td>
            <td class="number">
              <Badge mood={moodOf(worker.latenessMax, LATE_WARN_MS, LATE_BAD_MS)}>{duration(worker.latenessMax)}</Badge>
            </td>
            <td class="number">
              {wholeNumber(worker.playingPlayers)} of {wholeNumber(worker.players)}
            </td>
            <td class="number">{wholeNumber(worker.framesSent)}</td>
            <td class="number">{wholeNumber(worker.framesLost)}</td>
          </tr>
        ))}
      </tbody>
    </WideTable>
  );
}

interface ChartsProps {
  readonly points: readonly NodeSample[];
  readonly workers: readonly WorkerLoadJson[];
}

function Charts({ points, workers }: ChartsProps) {
  return (
    <div class="charts">
      <HistoryChart
        name="Memory"
        figureOf={(point) => point.memoryBytes}
        written={bytes}
        topMin={MEGABYTE}
        points={points}
      />
      <HistoryChart
        name="Processor, of all cores"
        figureOf={(point) => point.cpu}
        written={percent}
        topMin={1}
        points={points}
      />
      <HistoryChart
        name="Players that play"
        figureOf={(point) => point.playing}
        written={wholeNumber}
        topMin={1}
        points={points}
      />
      <HistoryChart
        name="Players"
        figureOf={(point) => point.players}
        written={wholeNumber}
        topMin={1}
        points={points}
      />
      <HistoryChart
        name="Frames lost per second"
        figureOf={lossRateOf}
        written={(rate) => rate.toFixed(1)}
        topMin={1}
        points={points}
      />
      <HistoryChart
        name="Latest frame"
        figureOf={(point) => point.latenessMs}
        written={duration}
        topMin={20}
        points={points}
      />
      {workers.map(({ index }) => (
        <HistoryChart
          key={index}
          name={`Load of worker ${index}`}
          points={points}
          figureOf={(point) => point.workerLoads[index]}
          written={percent}
          topMin={1}
        />
      ))}
    </div>
  );
}

type Cpu = StateMessage["stats"]["cpu"];

function processorText({ lavalinkLoad, systemLoad, cores }: Cpu): string {
  return `${percent(lavalinkLoad)} by the node, ${percent(systemLoad)} in all, of ${counted(cores, "core")}`;
}

function isFull({ lavalinkLoad, systemLoad }: Cpu): boolean {
  return Math.max(lavalinkLoad, systemLoad) >= CPU_WARN;
}

function isLate({ load, latenessMax }: WorkerLoadJson): boolean {
  return load >= LOAD_BAD || latenessMax >= LATE_BAD_MS;
}

function moodOf(value: number, warn: number, bad: number): Mood {
  if (value >= bad) return "bad";
  return value >= warn ? "warn" : "good";
}
