// The checks of `tonearm doctor` for TLS and client keys: the files exist and their content is valid. Main thread.

import type { NodeConfig } from "../../config/node-config.ts";
import { readKeys } from "../../control/access/key-file.ts";
import { servedCertificate } from "../../control/server/served-certificate.ts";
import { readTlsMaterial } from "../../control/server/tls-material.ts";
import { NodeError } from "../../errors.ts";
import type { Check, CheckResult } from "./check.ts";

const SOON_MS = 14 * 24 * 60 * 60 * 1000;

/** None where neither is set. */
export function accessChecks({ tls, keysPath }: NodeConfig["server"]): Check[] {
  return [
    ...(tls === undefined ? [] : [{ name: "TLS", run: () => checkTls(tls, Date.now()) }]),
    ...(keysPath === undefined ? [] : [{ name: "client keys", run: () => checkKeys(keysPath) }]),
  ];
}

/** `epochMs` is what time it is. */
export function checkTls(settings: NonNullable<NodeConfig["server"]["tls"]>, epochMs: number): Promise<CheckResult> {
  return advised("check the server.ssl keys and the files that they name", async () => {
    const { subject, validFrom, validTo } = await servedCertificate(readTlsMaterial(settings));
    const name = subject?.replaceAll("\n", ", ") || "an unnamed subject";
    const found = `the certificate of ${name} is good from ${validFrom} to ${validTo}`;
    const isGood = Date.parse(validFrom) <= epochMs && epochMs < Date.parse(validTo);
    if (!isGood) return { status: "fail", found, advice: "replace it; the node loads the new file without a restart" };
    const isShort = Date.parse(validTo) - epochMs < SOON_MS;
    return isShort ? { status: "warn", found, advice: "replace it soon" } : { status: "ok", found };
  });
}

function checkKeys(path: string): Promise<CheckResult> {
  return advised("fix the file, or make keys with `tonearm keys add NAME`", async () => {
    const keys = readKeys(path);
    if (keys === undefined) {
      return { status: "warn", found: `there is no ${path} yet`, advice: "`tonearm keys add NAME` makes it" };
    }
    return { status: "ok", found: keys.map(({ name }) => name).join(", ") || "none yet" };
  });
}

async function advised(advice: string, check: () => Promise<CheckResult>): Promise<CheckResult> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    return { status: "fail", found: error.message, advice };
  }
}
