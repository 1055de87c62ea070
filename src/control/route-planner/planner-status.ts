// The route planner's status as the protocol writes it: all numbers but timestamps are texts (protocol-v4.md section 3.8).
// Main thread.

export type PlannerClassName =
  | "RotatingIpRoutePlanner"
  | "NanoIpRoutePlanner"
  | "RotatingNanoIpRoutePlanner"
  | "BalancingIpRoutePlanner";

export interface RoutePlannerJson {
  readonly class: PlannerClassName;
  readonly details: RoutePlannerDetailsJson;
}

export interface RoutePlannerDetailsJson {
  readonly ipBlock: { readonly type: "Inet4Address" | "Inet6Address"; readonly size: string };
  readonly failingAddresses: readonly FailingAddressJson[];
  /** RotatingIpRoutePlanner. */
  readonly rotateIndex?: string | undefined;
  readonly ipIndex?: string | undefined;
  readonly currentAddress?: string | undefined;
  /** RotatingNanoIpRoutePlanner. */
  readonly blockIndex?: string | undefined;
  /** NanoIpRoutePlanner and RotatingNanoIpRoutePlanner. */
  readonly currentAddressIndex?: string | undefined;
}

export interface FailingAddressJson {
  /** With a slash in front. */
  readonly failingAddress: string;
  /** Unix epoch milliseconds. */
  readonly failingTimestamp: number;
  readonly failingTime: string;
}

export function failingAddressJson(address: string, epochMs: number): FailingAddressJson {
  return { failingAddress: `/${address}`, failingTimestamp: epochMs, failingTime: timeText(epochMs) };
}

/** `Mon Nov 11 20:05:07 UTC 2019`, from `Mon, 11 Nov 2019 20:05:07 GMT`. */
function timeText(epochMs: number): string {
  const text = new Date(epochMs).toUTCString();
  return `${text.slice(0, 3)} ${text.slice(8, 11)} ${text.slice(5, 7)} ${text.slice(17, 25)} UTC ${text.slice(12, 16)}`;
}
