// What environment and arguments hold beside the configuration: secrets, whether they are keys of ours or not, and what
// others have told the process. For the support bundle. Main thread.

import { isSecretName } from "../lib/secret-names.ts";

/** What stands behind every name that looks like a secret's, in the environment and in `args`. */
export function secretsAround(args: readonly string[]): string[] {
  const given = args.map((arg) => /^--([^=]+)=(.*)$/s.exec(arg)?.slice(1) ?? []);
  const all = [...Object.entries(process.env), ...given];
  // A shell's name for the folder it is in.
  return all.flatMap(([name = "", value = ""]) => (isSecretName(name) && name !== "PWD" ? [value] : []));
}

/** Options of Node.js that came with the environment; empty without. */
export function nodeOptionsAround(): string {
  return process.env.NODE_OPTIONS ?? "";
}

/** What says by a variable that it runs us in a container. */
export function containerAround(): string | undefined {
  return process.env.KUBERNETES_SERVICE_HOST === undefined ? process.env.container : "Kubernetes";
}
