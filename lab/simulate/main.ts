// `npm run lab -- simulate`: runs simulations by their seeds, and prints the violated invariants (README.md).

import { parseArgs } from "node:util";
import { simulate } from "./simulation.ts";
import { provide } from "./world.ts";

const SONG_SECONDS = 300;
const PACKETS_PER_SECOND = 50;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string" },
    minutes: { type: "string", default: "1" },
    guilds: { type: "string", default: "2" },
    verbose: { type: "boolean", default: false },
  },
});

function seedsOf(): readonly number[] {
  if (values.seed !== undefined) return [Number(values.seed)];
  const [from = 1, to = from] = (values.seeds ?? "1-20").split("-").map(Number);
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

const provisions = await provide(SONG_SECONDS);
let failedCount = 0;
for (const seed of seedsOf()) {
  const usageBefore = process.cpuUsage();
  const outcome = await simulate({
    seed,
    minutes: Number(values.minutes),
    guilds: Number(values.guilds),
    provisions,
    songPackets: SONG_SECONDS * PACKETS_PER_SECOND,
    ...(values.verbose && { onNote: (note: string) => console.log(note) }),
  });
  const { faults, digest, lengthMs, receivedFrames } = outcome;
  const { user, system } = process.cpuUsage(usageBefore);
  console.log(
    `seed ${seed}: ${(lengthMs / 1000).toFixed(0)} s in ${((user + system) / 1e6).toFixed(1)} s of CPU time, ` +
      `${receivedFrames} frames, ${digest}, ` +
      `${faults.length === 0 ? "all invariants held" : `${faults.length} violations`}`,
  );
  for (const fault of faults.slice(0, 20)) console.log(`  ${fault}`);
  if (faults.length > 0) failedCount++;
}
process.exitCode = failedCount === 0 ? 0 : 1;
