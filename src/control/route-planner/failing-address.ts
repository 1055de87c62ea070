// An address that failed, as the status of the route planner shows it (protocol-v4.md section 3.8). Main thread.

import type { FailingAddressJson } from "../protocol/route-planner-json.ts";

export function failingAddressToJson(address: string, epochMs: number): FailingAddressJson {
  return { failingAddress: `/${address}`, failingTimestamp: epochMs, failingTime: timeText(epochMs) };
}

/** `Mon Nov 11 20:05:07 UTC 2019`, from `Mon, 11 Nov 2019 20:05:07 GMT`. */
function timeText(epochMs: number): string {
  const text = new Date(epochMs).toUTCString();
  return `${text.slice(0, 3)} ${text.slice(8, 11)} ${text.slice(5, 7)} ${text.slice(17, 25)} UTC ${text.slice(12, 16)}`;
}
