// The table of players. A row is drawn again only when its line has changed. In the browser.

import { Component, createRef } from "preact";
import { writeRoute } from "../state/page-route.ts";
import { type PlayerLine, type PlayerLineState, playerKey } from "../state/player-line.ts";
import { Badge, HeadRow, type Mood, Untrusted } from "./pieces.tsx";

const NAMES = ["State", "Track", "Position", "Asked by", "Source", "Guild, bot", "Worker", "Cost", "Audio"];

interface TableProps {
  readonly lines: readonly PlayerLine[];
  /** Players of all machines are meant: rows say on which theirs is. */
  readonly allMachines: boolean;
}

const MOODS: Readonly<Record<PlayerLineState, Mood>> = {
  playing: "good",
  paused: "plain",
  opening: "plain",
  "no voice": "warn",
  empty: "plain",
};

/** Keeps the keyboard focus on its row when rows are reordered. */
export class PlayerTable extends Component<TableProps> {
  readonly #table = createRef<HTMLTableElement>();
  #focused: Element | null = null;

  override render() {
    this.#focused = document.activeElement;
    return (
      <table class="players" ref={this.#table}>
        <HeadRow names={this.props.allMachines ? [...NAMES, "Machine"] : NAMES} />
        <tbody>
          {this.props.lines.map((line) => (
            <Row key={line.key} line={line} allMachines={this.props.allMachines} />
          ))}
        </tbody>
      </table>
    );
  }

  override componentDidUpdate(): void {
    const focused = this.#focused;
    const isOurs = focused instanceof HTMLElement && this.#table.current?.contains(focused) === true;
    if (isOurs && document.activeElement !== focused) focused.focus({ preventScroll: true });
  }
}

interface RowProps extends Pick<TableProps, "allMachines"> {
  readonly line: PlayerLine;
}

class Row extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    return next.line !== this.props.line || next.allMachines !== this.props.allMachines;
  }

  override render({ line, allMachines }: RowProps) {
    const trouble = line.trouble === "" ? "" : line.troubleNow ? "stutters" : "stuttered";
    return (
      <tr class={trouble}>
        <td>
          <Badge mood={MOODS[line.state]}>{line.state}</Badge>
          {trouble !== "" && (
            <div class="below">
              <Badge mood={line.troubleNow ? "bad" : "warn"}>{line.trouble}</Badge>
            </div>
          )}
        </td>
        <th scope="row">
          <a href={writeRoute({ page: "player", sessionId: line.sessionId, guildId: line.guildId, allMachines })}>
            {line.title === null ? "Nothing loaded" : <Untrusted text={line.title} />}
          </a>
          <div class="below">
            <Untrusted text={line.author} />
          </div>
        </th>
        <td class="number">{line.title !== null && <PositionOf line={line} />}</td>
        <td>
          <Untrusted text={line.requester} />
        </td>
        <td>
          <Untrusted text={line.source} />
        </td>
        <td>
          <span class="id">{line.guildId}</span>
          <div class="below">
            <Untrusted text={line.client} />
          </div>
        </td>
        <td>{line.worker}</td>
        <td class="number">{line.cost}</td>
        <td>{line.mode}</td>
        {allMachines && <td>{line.machine === "" ? "this one" : <Untrusted text={line.machine} />}</td>}
      </tr>
    );
  }
}

/** Where it is in the track; `useMovingPositions` writes it. */
export function PositionOf({ line }: { readonly line: PlayerLine }) {
  const key = playerKey(line);
  return (
    <>
      <span data-position={key} /> {line.length === "" ? <span class="quiet">live</span> : `/ ${line.length}`}
      {line.length !== "" && (
        <div class="bar" aria-hidden="true">
          <div data-fill={key} />
        </div>
      )}
    </>
  );
}
