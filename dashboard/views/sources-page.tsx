// Sources and plugins, how they do, and the addresses that requests are sent from. In the browser.

import type { RoutePlannerJson } from "../../src/control/protocol/route-planner-json.ts";
import type { PluginJson, SourceCountsJson, SourceJson } from "../../src/control/protocol/sources-json.ts";
import { ago, ahead, counted, timeOfDay, wholeNumber } from "../state/format.ts";
import { BACKEND_STATES, SOURCE_STATES } from "../state/words.ts";
import type { PageProps } from "./page-props.ts";
import { Badge, Fact, HeadRow, type Mood, PageTitle, Untrusted, WideTable } from "./pieces.tsx";

const STATE_MOODS: Readonly<Record<SourceJson["state"], Mood>> = {
  idle: "plain",
  starting: "plain",
  running: "good",
  resting: "warn",
  off: "bad",
};
const BACKEND_MOODS: Readonly<Record<SourceJson["backends"][number]["state"], Mood>> = {
  closed: "good",
  halfOpen: "warn",
  open: "bad",
};

/** Whether what people ask for is found. */
export function SourcesPage(props: PageProps) {
  const { latest } = props.known;
  if (latest === null) return null;
  return (
    <section>
      <PageTitle>Sources</PageTitle>
      <WideTable label="Sources, in the order in which they are asked">
        <HeadRow names={["Source", "State", "Backends", "Last error", "Loads", "Links"]} />
        <tbody>
          {latest.sources.map((source) => (
            <SourceRow key={source.name} source={source} nowMs={latest.atMs} />
          ))}
        </tbody>
      </WideTable>
      <h2>Plugins</h2>
      {latest.plugins.length === 0 ? (
        <p class="none">None is configured.</p>
      ) : (
        <WideTable label="Plugins">
          <HeadRow
            names={["Plugin", "State", "Sources", "Threads lost", "Counts", ...(props.canAct ? ["Action"] : [])]}
          />
          <tbody>
            {latest.plugins.map((plugin) => (
              <PluginRow key={plugin.name} {...props} plugin={plugin} />
            ))}
          </tbody>
        </WideTable>
      )}
      <h2>Route planner</h2>
      {latest.routePlanner === null ? (
        <p class="none">None is configured: requests leave from the machine’s own address.</p>
      ) : (
        <Planner {...props} planner={latest.routePlanner} nowMs={latest.atMs} />
      )}
    </section>
  );
}

function SourceRow({ source, nowMs }: { readonly source: SourceJson; readonly nowMs: number }) {
  const { name, plugin, loads, links, backends } = source;
  return (
    <tr>
      <th scope="row">
        <Untrusted text={name} />
        <div class="below">{plugin === null ? "part of the node" : <Untrusted text={`plugin ${plugin}`} />}</div>
      </th>
      <td>
        <State of={source} />
      </td>
      <td>
        {backends.length === 0 ? (
          "–"
        ) : (
          <ul class="backends">
            {backends.map((backend) => (
              <li key={backend.name}>
                <Untrusted text={backend.name} />{" "}
                <Badge mood={BACKEND_MOODS[backend.state]}>{backendText(backend, nowMs)}</Badge>
                {backend.lastError !== null && (
                  <div class="below">
                    <Untrusted text={backend.lastError} />
                  </div>
                )}
              </li>
            ))}
          </ul>
        )}
      </td>
      <td>
        <LastError name="load" counts={loads} nowMs={nowMs} />
        <LastError name="link" counts={links} nowMs={nowMs} />
      </td>
      <td class="counts">{countsText(loads)}</td>
      <td class="counts">{countsText(links)}</td>
    </tr>
  );
}

/** The state of a source or a plugin, and its trouble. */
function State({ of }: { readonly of: Pick<SourceJson, "state" | "trouble"> }) {
  const { short, long } = SOURCE_STATES[of.state];
  return (
    <>
      <Badge mood={STATE_MOODS[of.state]}>
        <span title={long}>{short}</span>
      </Badge>
      {of.trouble !== null && (
        <div class="below">
          <Untrusted text={of.trouble} />
        </div>
      )}
    </>
  );
}

interface LastErrorProps {
  readonly name: string;
  readonly counts: SourceCountsJson | null;
  readonly nowMs: number;
}

function LastError({ name, counts, nowMs }: LastErrorProps) {
  const error = counts?.lastError ?? null;
  if (error === null) return null;
  return (
    <div>
      <Untrusted text={`${error.code}: ${error.message}`} />
      <div class="below">
        {name}, {ago(nowMs - error.atMs)}
      </div>
    </div>
  );
}

function PluginRow({ plugin, canAct, isLive, ask }: PageProps & { readonly plugin: PluginJson }) {
  const { name, version, isBuiltIn, losses, sources, counts, changedOptions } = plugin;
  return (
    <tr>
      <th scope="row">
        <Untrusted text={name} />
        <div class="below">
          <Untrusted text={version ?? "never set up"} />
          {isBuiltIn && ", built in"}
        </div>
      </th>
      <td>
        <State of={plugin} />
        {changedOptions.length > 0 && (
          <div class="below">
            <Untrusted text={`changed while it runs: ${changedOptions.join(", ")}`} />
          </div>
        )}
      </td>
      <td>
        <Untrusted text={sources.join(", ") || "–"} />
      </td>
      <td class="number">{wholeNumber(losses)}</td>
      <td>
        <Untrusted
          text={
            Object.entries(counts)
              .map(([word, count]) => `${word} ${count}`)
              .join(", ") || "–"
          }
        />
      </td>
      {canAct && (
        <td>
          <button
            type="button"
            disabled={!isLive}
            aria-label={`Reload ${name}…`}
            onClick={() => ask({ kind: "reloadPlugin", name }, name)}
          >
            Reload…
          </button>
        </td>
      )}
    </tr>
  );
}

function Planner(props: PageProps & { readonly planner: RoutePlannerJson; readonly nowMs: number }) {
  const { planner, canAct, isLive, ask, nowMs } = props;
  const { ipBlock, failingAddresses, currentAddress } = planner.details;
  return (
    <>
      <dl class="facts">
        <Fact name="Kind">{planner.class}</Fact>
        <Fact name="Block">
          {ipBlock.type === "Inet4Address" ? "IPv4" : "IPv6"}, {ipBlock.size} addresses
        </Fact>
        {currentAddress && (
          <Fact name="Address now">
            <Untrusted text={bareAddress(currentAddress)} />
          </Fact>
        )}
        <Fact name="Failing">{counted(failingAddresses.length, "address", "addresses")}</Fact>
      </dl>
      {failingAddresses.length > 0 && (
        <>
          <WideTable label="Failing addresses">
            <HeadRow names={["Address", "Failed", ...(canAct ? ["Action"] : [])]} />
            <tbody>
              {failingAddresses.map(({ failingAddress, failingTimestamp }) => (
                <tr key={failingAddress}>
                  <th scope="row">
                    <Untrusted text={bareAddress(failingAddress)} />
                  </th>
                  <td>
                    {timeOfDay(failingTimestamp)}, {ago(nowMs - failingTimestamp)}
                  </td>
                  {canAct && (
                    <td>
                      <button
                        type="button"
                        disabled={!isLive}
                        aria-label={`Free ${bareAddress(failingAddress)}…`}
                        onClick={() =>
                          ask(
                            { kind: "freeAddress", address: bareAddress(failingAddress) },
                            bareAddress(failingAddress),
                          )
                        }
                      >
                        Free…
                      </button>
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </WideTable>
          {canAct && (
            <p class="buttons">
              <button type="button" disabled={!isLive} onClick={() => ask({ kind: "freeAllAddresses" }, "")}>
                Free all…
              </button>
            </p>
          )}
        </>
      )}
    </>
  );
}

function countsText(counts: SourceCountsJson | null): string {
  if (counts === null) return "–";
  const { succeeded, refused, failed } = counts;
  return `${wholeNumber(succeeded)} found, ${wholeNumber(refused)} refused, ${wholeNumber(failed)} failed`;
}

function backendText({ state, openUntilMs }: SourceJson["backends"][number], nowMs: number): string {
  if (openUntilMs === null) return BACKEND_STATES[state];
  return `${BACKEND_STATES[state]}, tried again ${ahead(openUntilMs - nowMs)} (${timeOfDay(openUntilMs)})`;
}

/** The protocol writes addresses with a slash in front, as Java does. */
function bareAddress(address: string): string {
  return address.replace(/^\//, "");
}
