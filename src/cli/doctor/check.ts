// A check of `tonearm doctor`: a name, and a test whose result fits on one line. Main thread.

type CheckStatus = "ok" | "warn" | "fail";

export interface CheckResult {
  readonly status: CheckStatus;
  /** The finding, in a few words. */
  readonly found: string;
  /** How to fix it; present for every status but `ok`. */
  readonly advice?: string;
}

export interface Check {
  readonly name: string;
  /** May reject: the doctor reports that as `fail`. Ends within a few seconds. */
  run(): Promise<CheckResult>;
}

/** The line of one check: `ok    DNS         discord.com is 162.159.137.232`. */
export function checkLine(name: string, { status, found, advice }: CheckResult): string {
  const line = `${status.padEnd(5)} ${name.padEnd(15)} ${found}`;
  return advice === undefined ? line : `${line}: ${advice}`;
}

/** Rejects with `message` unless `promise` settles in time. */
export async function within<T>(promise: Promise<T>, timeoutMs: number, message: string): Promise<T> {
  let timeout: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timeout = setTimeout(() => reject(new Error(message)), timeoutMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timeout);
  }
}
