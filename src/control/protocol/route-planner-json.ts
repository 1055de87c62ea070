// The route planner's status as the protocol writes it: all numbers but timestamps are texts (protocol-v4.md section
// 3.8). Main thread; made by control/route-planner.

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
