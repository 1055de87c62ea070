import type { Bucket } from "./bucket.ts";
import type { MachineLink } from "./machine-link.ts";
export async function connectCluster(..._: unknown[]): Promise<{ link: MachineLink; bucket: Bucket }> {
  throw new Error("stub");
}
