// Facts from the environment and the arguments that are not configuration: secrets, whether they belong to our keys or
// not, and information that other programs pass to the process. For the support bundle. Main thread.

import { isSecretName } from "../lib/secret-names.ts";

/** The values of all names that look like a secret's, in the environment and in `args`. */
export function secretsAround(args: readonly string[]): string[] {
  const given = args.map((arg) => /^--([^=]+)=(.*)$/s.exec(arg)?.slice(1) ?? []);
  const all = [...Object.entries(process.env), ...given];
  // A shell's name for the folder it is in.
  return all.flatMap(([name = "", value = ""]) => (isSecretName(name) && name !== "PWD" ? [value] : []));
}

/** The Node.js options set by the environment; empty when there are none. */
export function nodeOptionsAround(): string {
  return process.env.NODE_OPTIONS ?? "";
}

/** The container engine that runs the process, as far as a variable names it. */
export function containerAround(): string | undefined {
  return process.env.KUBERNETES_SERVICE_HOST === undefined ? process.env.container : "Kubernetes";
}
