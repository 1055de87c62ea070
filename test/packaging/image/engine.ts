// Containers for the tests of the image, by podman as test/packaging/image/run.sh has set it up. Nothing here blocks: the fake Discord
// listens in the same process.

import { execFile } from "node:child_process";
import { afterEach } from "vitest";
import { sleep } from "../../../lab/sleep.ts";

/** Why the tests of the image cannot run, as found by test/packaging/image/run.sh; empty when they can. */
export const { IMAGE_MISSING = "they are run by test/packaging/image/run.sh" } = process.env;
/** The image under test, and the one it is built on. */
export const { IMAGE_NAME = "", IMAGE_BASE = "" } = process.env;
/** As strict as `docker run` can be; without the tmpfs folders that podman adds, as Docker has none. */
export const HARDENED = [
  ...["--read-only", "--read-only-tmpfs=false", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
  ...["--memory", "256m"],
];
export const PASSWORD = "a test password";

const OUTPUT_BYTES_MAX = 10 * 1024 * 1024;
const COMMAND_TIMEOUT_MS = 60_000;
/** Enough for the longest wait, an installation from the registry; below the timeout of a test. */
const WAIT_MAX_MS = 240_000;
const POLL_INTERVAL_MS = 20;

if (IMAGE_MISSING !== "") console.log(`skipped: ${IMAGE_MISSING}`);

const containers: Container[] = [];

afterEach(async () => {
  for (const container of containers.splice(0)) await container.remove();
});

interface Ended {
  readonly status: number;
  /** Standard output and errors. */
  readonly output: string;
}

/** Runs a program on this machine to its end. */
export function command(program: string, args: readonly string[], cwd?: string): Promise<Ended> {
  const options = { cwd, maxBuffer: OUTPUT_BYTES_MAX, timeout: COMMAND_TIMEOUT_MS };
  return new Promise((resolve) => {
    execFile(program, args, options, (error, output, errors) => {
      // A program that was ended by a signal has no exit status.
      const status = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      resolve({ status, output: `${output}${errors}` });
    });
  });
}

interface ContainerOptions {
  /** Options of `podman run`. */
  readonly options?: readonly string[];
  readonly image?: string;
  /** Environment variables of the container. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Behind the image's name. */
  readonly command?: readonly string[];
}

export class Container {
  readonly #id: string;

  private constructor(id: string) {
    this.#id = id;
  }

  /** Started, on the network of this machine; goes away with the test. */
  static async start({ options = [], image = IMAGE_NAME, ...given }: ContainerOptions): Promise<Container> {
    const { variables = {}, command: words = [] } = given;
    const environment = Object.entries(variables).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
    const engine = ["run", "--detach", "--network", "host", "--no-healthcheck", ...environment];
    const args = [...engine, ...options, image, ...words];
    const { status, output } = await command("podman", args);
    const id = /^[0-9a-f]{64}$/m.exec(output)?.[0];
    if (status !== 0 || id === undefined) throw new Error(`podman ${args.join(" ")}: ${output}`);
    const container = new Container(id);
    containers.push(container);
    return container;
  }

  /** Runs one to its end. */
  static async run(options: ContainerOptions): Promise<Ended> {
    const container = await Container.start(options);
    const status = await container.ended();
    return { status, output: await container.output() };
  }

  /** The output so far. */
  async output(): Promise<string> {
    return (await command("podman", ["logs", this.#id])).output;
  }

  /** Resolves with the output once it has this in it; rejects when the container ends without, or takes too long. */
  async until(pattern: RegExp): Promise<string> {
    for (const deadlineMs = Date.now() + WAIT_MAX_MS; Date.now() < deadlineMs; ) {
      const isRunning = await this.inspect("{{.State.Running}}");
      const output = await this.output();
      if (pattern.test(output)) return output;
      if (isRunning === "false") throw new Error(`ended without ${pattern}: ${output}`);
      await sleep(POLL_INTERVAL_MS);
    }
    throw new Error(`no ${pattern} after ${WAIT_MAX_MS / 1000} s: ${await this.output()}`);
  }

  /** Runs a program in it. */
  exec(...words: string[]): Promise<Ended> {
    return command("podman", ["exec", this.#id, ...words]);
  }

  /** The output of `podman inspect` for a template. */
  async inspect(template: string): Promise<string> {
    return (await command("podman", ["inspect", "--format", template, this.#id])).output.trim();
  }

  async signal(name: string): Promise<void> {
    await command("podman", ["kill", "--signal", name, this.#id]);
  }

  /** Resolves with its exit status; rejects when it takes too long, with what it has written. */
  async ended(): Promise<number> {
    for (const deadlineMs = Date.now() + WAIT_MAX_MS; Date.now() < deadlineMs; await sleep(POLL_INTERVAL_MS)) {
      if ((await this.inspect("{{.State.Running}}")) !== "true")
        return Number(await this.inspect("{{.State.ExitCode}}"));
    }
    throw new Error(`still running after ${WAIT_MAX_MS / 1000} s: ${await this.output()}`);
  }

  async remove(): Promise<void> {
    await command("podman", ["rm", "--force", "--volumes", "--time", "0", this.#id]);
  }
}
