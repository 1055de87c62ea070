// Reports at start that DAVE's native library is missing: without it audio workers do not run, which would show only
// once a bot plays. Main thread; the doctor checks more.

import type { Logger } from "../log/log.ts";

const ADVICE =
  "Discord accepts no voice connection without it, so nothing will play; install @snazzah/davey for this system, with " +
  "its optional packages (npm ci without --omit=optional), and run tonearm doctor";

/** Never rejects. `load`: for tests. */
export async function reportDave(
  logger: Logger,
  load: () => Promise<unknown> = () => import("@snazzah/davey"),
): Promise<void> {
  try {
    await load();
  } catch (error) {
    logger.error(`DAVE is not available: its native library cannot be loaded. ${ADVICE}`, { error });
  }
}
