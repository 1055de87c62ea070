// Every check, group by group, in the order of the report.

import { authChecks } from "./rules/auth.ts";
import { errorChecks } from "./rules/errors.ts";
import { eventChecks } from "./rules/events.ts";
import { filterChecks } from "./rules/filters.ts";
import { generalChecks } from "./rules/general.ts";
import { playerChecks } from "./rules/players.ts";
import { sessionChecks } from "./rules/sessions.ts";
import { trackChecks } from "./rules/tracks.ts";
import { v3Checks } from "./rules/v3.ts";
import { voiceChecks } from "./rules/voice.ts";
import { webSocketChecks } from "./rules/web-socket.ts";
import type { Check } from "./workbench/check.ts";

export const CHECKS: readonly Check[] = [
  ...authChecks,
  ...errorChecks,
  ...generalChecks,
  ...trackChecks,
  ...sessionChecks,
  ...playerChecks,
  ...filterChecks,
  ...eventChecks,
  ...voiceChecks,
  ...webSocketChecks,
  ...v3Checks,
];

export const GROUPS: readonly string[] = [...new Set(CHECKS.map(({ group }) => group))];
