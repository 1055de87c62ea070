// The route planner's status as the protocol writes it: all numbers but timestamps are texts (protocol-v4.md section
// 3.8). Main thread; made by control/route-planner.

/** The class names of the published server, by which clients tell the planners apart. */
export type PlannerClassName =
  | "RotatingIpRoutePlanner"
  | "NanoIpRoutePlanner"
  | "RotatingNanoIpRoutePlanner"
  | "BalancingIpRoutePlanner";

/** The answer of `routeplanner/status`; without a planner there is none (204). */
export interface RoutePlannerJson {
  readonly class: PlannerClassName;
  readonly details: RoutePlannerDetailsJson;
}

/** Which of the last members are there depends on the class. */
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

/** `failingTime` is the same moment for people, in the form of Java's `Date`. */
export interface FailingAddressJson {
  /** With a slash in front. */
  readonly failingAddress: string;
  /** Unix epoch milliseconds. */
  readonly failingTimestamp: number;
  readonly failingTime: string;
}
