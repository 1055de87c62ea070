// A setting as it was written somewhere, before its key is known. Main thread, at start.

/** One value with its names and its location. */
export interface WrittenSetting {
  /** Names from the top of the file down; numbers are indexes of lists. For a variable: its name, alone. */
  readonly names: readonly string[];
  readonly text: string;
  /** Where: `application.yml:3:9`, `environment variable SERVER_PORT`, `--server.port`. */
  readonly location: string;
}

/** Something wrong that stops the start. All of them are gathered and shown together. */
export interface ConfigProblem {
  readonly location: string;
  readonly message: string;
}
