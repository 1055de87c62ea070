// Turns environment variables into settings: only those whose first word is, or was meant to be, the first name of a
// key. Empty ones count as not set, and the ones that Kubernetes sets for a service of that name are ignored. Main
// thread, at start.

import { closestName } from "../../lib/closest-name.ts";
import { isOurVariable } from "./key-names.ts";
import type { Variables } from "./placeholders.ts";
import type { WrittenSetting } from "./written-setting.ts";

/** Kubernetes describes a service named `tonearm` (or `lavalink`, `server`) to every container in such variables. */
const SERVICE_LINK_NAME = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;
const SERVICE_LINK_VALUE = /^(tcp|udp|sctp):\/\//;
const ADDRESS_NAME = /_PORT(_\d+_(TCP|UDP|SCTP))?$/;

/** The variables that may be settings. `names` holds only the variable's name; key-names.ts finds the key. */
export function readEnvironment(variables: Variables): WrittenSetting[] {
  return Object.entries(variables).flatMap(([name, text]) => {
    if (text === undefined || text === "" || !(isOurVariable(name) || isNearlyOurs(name))) return [];
    if (SERVICE_LINK_VALUE.test(text) && ADDRESS_NAME.test(name)) return [];
    return [{ names: [name], text, location: `environment variable ${name}` }];
  });
}

/** True when the first word is one that only we or Lavalink have, misspelt. */
function isNearlyOurs(variableName: string): boolean {
  return closestName(variableName.split("_", 1)[0] ?? "", ["LAVALINK", "TONEARM"]) !== undefined;
}

/** True for a name that only Kubernetes sets, which is not reported when no key has it. */
export function isServiceLink(variableName: string): boolean {
  return SERVICE_LINK_NAME.test(variableName);
}
