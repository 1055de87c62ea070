// One player: its track, why it stuttered, the state of voice and audio, and the available actions. In the browser.

import { useRef } from "preact/hooks";
import type { PlayerDiagnosisJson } from "../../src/control/protocol/player-diagnosis-json.ts";
import { ago, bytes, counted, duration, percent, timeOfDay, wholeNumber } from "../state/format.ts";
import { type PageRoute, writeRoute } from "../state/page-route.ts";
import { type PlayerLine, playerKey } from "../state/player-line.ts";
import { CAUSES, DAVE_STATES, GATES, MODES, REPAIRS } from "../state/words.ts";
import { MissingMachines } from "./all-machines.tsx";
import { IncidentTimeLine } from "./incident-time-line-view.tsx";
import { LostMinutes } from "./lost-minutes.tsx";
import { useMovingPositions } from "./moving-positions.ts";
import type { PageProps } from "./page-props.ts";
import { Fact, HeadRow, PageTitle, Untrusted, WideTable } from "./pieces.tsx";
import { PositionOf } from "./player-table.tsx";

/** Behind a row of the players. */
export function PlayerPage(props: PageProps & { readonly route: Extract<PageRoute, { page: "player" }> }) {
  const { known, route } = props;
  const { allMachines = false } = route;
  const container = useRef<HTMLElement>(null);
  useMovingPositions(container, props);
  const line = known.lines.find(({ key }) => key === playerKey(route));
  const { latest } = known;
  const focus = latest?.focus ?? null;
  const player = focus !== null && playerKey(focus) === playerKey(route) ? focus : null;
  return (
    <section ref={container}>
      <p>
        <a href={writeRoute({ page: "players", filter: "", onlyTrouble: false, number: 1, allMachines })}>
          All players
        </a>
      </p>
      <PageTitle>{player === null ? "Player" : <Untrusted text={line?.title ?? "Nothing loaded"} />}</PageTitle>
      {latest === null || player === null ? (
        <>
          {allMachines && <MissingMachines latest={latest} />}
          <p class="none">There is no such player now: it was destroyed, or its client has left.</p>
        </>
      ) : (
        <>
          <NowPlaying line={line} player={player} />
          {props.canAct && <Actions {...props} player={player} line={line} />}
          <IncidentTimeLine incidents={player.incidents} shared={latest.load.sharedIncidents} nowMs={latest.atMs} />
          <LostFrames player={player} nowMs={latest.atMs} />
          <AudioSection player={player} />
          <Voice player={player} />
        </>
      )}
    </section>
  );
}

interface PlayerProps {
  readonly player: PlayerDiagnosisJson;
}

function NowPlaying({ line, player }: PlayerProps & { readonly line: PlayerLine | undefined }) {
  return (
    <dl class="facts">
      {line !== undefined && (
        <>
          <Fact name="State">{line.state}</Fact>
          <Fact name="By">
            <Untrusted text={line.author || "–"} />
          </Fact>
          <Fact name="Position">{line.title === null ? "–" : <PositionOf line={line} />}</Fact>
          <Fact name="Asked by">
            <Untrusted text={line.requester || "not provided by the bot"} />
          </Fact>
        </>
      )}
      <Fact name="Source">
        <Untrusted text={player.track?.sourceName ?? "–"} />
      </Fact>
      {line?.address && (
        <Fact name="Link">
          <a href={line.address} target="_blank" rel="noreferrer noopener">
            <Untrusted text={line.address} />
          </a>
        </Fact>
      )}
      <Fact name="Guild">{player.guildId}</Fact>
      <Fact name="Bot">
        <Untrusted text={line?.client ?? "?"} />
      </Fact>
      {line !== undefined && line.machine !== "" && (
        <Fact name="Machine">
          <Untrusted text={line.machine} />
        </Fact>
      )}
      <Fact name="Session">
        <Untrusted text={player.sessionId} />
      </Fact>
    </dl>
  );
}

function Actions({ player, line, ask, isLive }: PageProps & PlayerProps & { readonly line: PlayerLine | undefined }) {
  const { sessionId, guildId, track, paused } = player;
  const subject = line?.title ?? guildId;
  const machine = line?.machineId === undefined ? {} : { machineId: line.machineId };
  const button = (kind: "pause" | "resume" | "skip" | "stop", name: string, isPossible: boolean) => (
    <button
      type="button"
      disabled={!isLive || !isPossible}
      onClick={() => ask({ kind, sessionId, guildId, ...machine }, subject)}
    >
      {name}
    </button>
  );
  return (
    <p class="buttons">
      {paused ? button("resume", "Resume…", true) : button("pause", "Pause…", true)}
      {button("skip", "Skip…", track !== null)}
      {button("stop", "Stop…", track !== null)}
    </p>
  );
}

function LostFrames({ player, nowMs }: PlayerProps & { readonly nowMs: number }) {
  const { sent, lost, lostMinutes } = player.frames;
  const rows = Object.entries(CAUSES)
    .map(([cause, words]) => ({ cause, words, count: lost[cause as keyof typeof lost] }))
    .filter(({ count }) => count > 0)
    .toSorted((one, other) => other.count - one.count);
  return (
    <section>
      <h2>Lost frames</h2>
      <p class="quiet">{wholeNumber(sent)} frames of 20 ms were sent.</p>
      <LostMinutes minutes={lostMinutes} nowMs={nowMs} />
      {rows.length === 0 ? (
        <p class="none">None was lost.</p>
      ) : (
        <WideTable label="Lost frames by cause">
          <HeadRow names={["Cause", "Frames", "Meaning"]} />
          <tbody>
            {rows.map(({ cause, words, count }) => (
              <tr key={cause}>
                <th scope="row">{words.short}</th>
                <td class="number">
                  {wholeNumber(count)} <span class="quiet">({duration(count * 20)})</span>
                </td>
                <td class="prose">{words.long}</td>
              </tr>
            ))}
          </tbody>
        </WideTable>
      )}
    </section>
  );
}

function AudioSection({ player }: PlayerProps) {
  const { audio, worker, renderWorker, repairs, inputReopened, age } = player;
  const { last } = repairs;
  return (
    <section>
      <h2>Audio and repairs</h2>
      <dl class="facts">
        <Fact name="Codec of the input">{codecText(audio)}</Fact>
        <Fact name="How it is made">{audio === null ? "–" : MODES[audio.mode]}</Fact>
        <Fact name="Volume">{player.volume} %</Fact>
        <Fact name="Filters">{player.filters.join(", ") || "none"}</Fact>
        <Fact name="Buffered">{audio === null ? "–" : duration(audio.queued)}</Fact>
        <Fact name="Memory">{audio === null ? "–" : bytes(audio.heldBytes)}</Fact>
        <Fact name="Worker">{worker === null ? "waits for one" : workerText(worker)}</Fact>
        {renderWorker !== null && <Fact name="Audio rendered by">{workerText(renderWorker)}</Fact>}
        <Fact name="Connection opened again">{counted(inputReopened, "time")}</Fact>
        <Fact name="Track opened again">{counted(repairs.reopen, "time")}</Fact>
        <Fact name="Voice joined again">{counted(repairs.rejoin, "time")}</Fact>
        {last !== null && (
          <Fact name="Last repair">
            {REPAIRS[last.kind]} at {timeOfDay(last.time)}: {CAUSES[last.cause].short}, silent for{" "}
            {duration(last.silent)}
          </Fact>
        )}
        <Fact name="Last worker report">{age === null ? "never" : ago(age)}</Fact>
      </dl>
    </section>
  );
}

function Voice({ player: { voice, region } }: PlayerProps) {
  return (
    <section>
      <h2>Voice and encryption</h2>
      {voice === null ? (
        <p class="none">It has never had a voice connection.</p>
      ) : (
        <dl class="facts">
          <Fact name="Voice">{voice.state}</Fact>
          <Fact name="Region">
            <Untrusted text={region ?? "–"} />
          </Fact>
          <Fact name="Due frames">{GATES[voice.gate]}</Fact>
          <Fact name="Ping">{voice.ping < 0 ? "–" : `${voice.ping} ms`}</Fact>
          <Fact name="End-to-end (DAVE)">{DAVE_STATES[voice.dave.state]}</Fact>
          <Fact name="DAVE version">{voice.dave.version === 0 ? "none" : voice.dave.version}</Fact>
          <Fact name="DAVE epoch">{voice.dave.epoch ?? "–"}</Fact>
          {Object.entries(voice.counts)
            .filter(([, count]) => count > 0)
            .map(([name, count]) => (
              <Fact key={name} name={spelledOut(name)}>
                {wholeNumber(count)}
              </Fact>
            ))}
        </dl>
      )}
    </section>
  );
}

/** `opus, 128 kbit/s`: a mean, as far as it has been read. */
function codecText(audio: PlayerDiagnosisJson["audio"]): string {
  if (!audio?.codec) return "–";
  return audio.bitrate === null ? audio.codec : `${audio.codec}, ${wholeNumber(audio.bitrate / 1000)} kbit/s`;
}

function workerText({ index, isIsolated, load, latenessP99 }: NonNullable<PlayerDiagnosisJson["worker"]>): string {
  return `${index}${isIsolated ? ", isolated" : ""}, load ${percent(load)}, lateness ${duration(latenessP99)}`;
}

/** `daveTransitions`: Dave transitions. */
function spelledOut(name: string): string {
  const words = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}
