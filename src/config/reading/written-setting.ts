// A setting before its key is known. Main thread, at start.

/** One value with its names and its location. */
export interface WrittenSetting {
  /** Names from the top of the file down; numbers are indexes of lists. For a variable: its name, alone. */
  readonly names: readonly string[];
  readonly text: string;
  /** The variable of a placeholder in `text` that has no value; `text` is then as it was written. */
  readonly missingVariable?: string | undefined;
  /** Where: `application.yml:3:9`, `environment variable SERVER_PORT`, `--server.port`. */
  readonly location: string;
}

/** A mistake that stops the start. All of them are collected and shown together. */
export interface ConfigProblem {
  readonly location: string;
  readonly message: string;
}
