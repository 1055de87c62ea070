// A process that holds a folder of the state and, if told so, writes to it until it is killed. Started by
// state-process.ts; reports over IPC that it is open, and the number of each write that was acknowledged.

import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/log/log.ts";
import { openStateStore } from "../../src/state/open-state.ts";

/** Keys that are written again and again, in pairs. */
const PAIRS = 50;

const [, , path = "", firstWrite] = process.argv;
const opened = await openStateStore({ path, key: undefined, clock: systemClock, logger: silentLogger });
if (opened.kind === "off") throw new Error(opened.reason);
process.send?.("open");
process.on("disconnect", () => process.exit());
for (let count = Number(firstWrite); Number.isFinite(count); count++) {
  const value = `${count} `.repeat(100);
  const pair = count % PAIRS;
  await opened.store.write([
    { key: `one/${pair}`, value },
    { key: `other/${pair}`, value },
  ]);
  process.send?.(count);
}
