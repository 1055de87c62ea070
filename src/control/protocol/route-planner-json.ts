// The route planner's status as the protocol writes it: all numbers but timestamps are texts (protocol-v4.md section
// 3.8). Main thread; made by control/route-planner.

import { z } from "zod";
import { type JsonOf, text } from "./json-of.ts";

/**
 * The answer of `routeplanner/status`; 204 without a planner. Which of the last members are present depends on the
 * class.
 */
export type RoutePlannerJson = JsonOf<typeof routePlannerSchema>;
/** The class names of the published server, by which clients distinguish the planners. */
export type PlannerClassName = RoutePlannerJson["class"];
/** `failingTime` is the same moment for people, in the form of Java's `Date`. */
export type FailingAddressJson = RoutePlannerJson["details"]["failingAddresses"][number];

const numberText = z.string().regex(/^\d+$/);

/** Schema of RoutePlannerJson. */
export const routePlannerSchema = z
  .strictObject({
    class: z.enum([
      "RotatingIpRoutePlanner",
      "NanoIpRoutePlanner",
      "RotatingNanoIpRoutePlanner",
      "BalancingIpRoutePlanner",
    ]),
    details: z.strictObject({
      ipBlock: z.strictObject({
        type: z.enum(["Inet4Address", "Inet6Address"]),
        size: numberText.describe("Addresses of all blocks"),
      }),
      failingAddresses: z.array(
        z.strictObject({
          failingAddress: text.describe("With a slash in front"),
          failingTimestamp: z.int().describe("Epoch milliseconds"),
          failingTime: text.describe("That time as text, in UTC"),
        }),
      ),
      rotateIndex: numberText.optional().describe("RotatingIpRoutePlanner: addresses that have failed so far"),
      ipIndex: numberText.optional().describe("RotatingIpRoutePlanner: the current address, from 1; 0 for none yet"),
      currentAddress: text.optional().describe("RotatingIpRoutePlanner: with a slash in front; empty for none yet"),
      blockIndex: numberText.optional().describe("RotatingNanoIpRoutePlanner: the current /64, from 0"),
      currentAddressIndex: numberText.optional().describe("Both with Nano in their names: nanoseconds so far"),
    }),
  })
  .meta({ id: "RoutePlanner" });
