// The environment of start-test-environment.ts in virtual time: node, fake Discord, fake site and bots in this process
// on one clock, which stands still while anything is left to do. The audio of a scenario does not depend on the
// machine.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { MediaServerOptions } from "../../lab/media-server/media-server.ts";
import { prepareCodecs, VirtualEnvironment } from "../../lab/simulate/virtual-environment.ts";
import { NEAR } from "../../lab/simulate/virtual-network.ts";
import { TestEnvironment, type TestEnvironmentOptions } from "../../lab/test-environment/test-environment.ts";
import { untilOn } from "./until-on.ts";

interface VirtualTestEnvironmentOptions extends TestEnvironmentOptions {
  /** Seed of all randomness. */
  readonly seed?: number;
}

/** Whatever lets the time of a story pass. */
interface Narrator {
  run<T>(story: () => Promise<T>): Promise<T>;
}

/** Makes a test of a scenario: run by `narrator`, which is looked up when the test runs. */
export function narrating(narrator: () => Narrator) {
  return <Given extends unknown[]>(story: (...given: Given) => Promise<void>) =>
    (...given: Given): Promise<void> =>
      narrator().run(() => story(...given));
}

export class VirtualTestEnvironment implements Narrator {
  readonly env: TestEnvironment;
  readonly #environment: VirtualEnvironment;

  private constructor(env: TestEnvironment, environment: VirtualEnvironment) {
    this.env = env;
    this.#environment = environment;
  }

  static async start({
    seed = 1,
    media = {},
    ...options
  }: VirtualTestEnvironmentOptions = {}): Promise<VirtualTestEnvironment> {
    const environment = new VirtualEnvironment({ seed, codecs: await prepareCodecs(), latency: NEAR });
    return new VirtualTestEnvironment(
      await TestEnvironment.start({ ...options, media: inMemory(media), environment }),
      environment,
    );
  }

  get clock(): VirtualEnvironment["clock"] {
    return this.#environment.clock;
  }

  /** The node's threads, which can be ended and held up. */
  get threads(): VirtualEnvironment["threads"] {
    return this.#environment.threads;
  }

  /** Lets time pass until this is done. It may wait only for the environment, not for the world outside. */
  run<T>(story: () => Promise<T>): Promise<T> {
    return this.clock.drive(story());
  }

  /** Resolves when this holds, checked with every frame; rejects after a minute naming `what`. */
  until(holds: () => boolean, what: string): Promise<void> {
    return untilOn(this.clock, holds, what);
  }

  close(): Promise<void> {
    return this.run(() => this.env.close());
  }
}

/** The files of its folder, read before time begins: it does not wait for a disk. */
function inMemory({ root, files, ...media }: MediaServerOptions): MediaServerOptions {
  if (root === undefined) return { ...media, ...(files && { files }) };
  const names = readdirSync(root, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? entry.name : []));
  const read = Object.fromEntries(names.map((name) => [name, readFileSync(join(root, name))]));
  return { ...media, files: { ...read, ...files } };
}
