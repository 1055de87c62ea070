// The stage of start-stage.ts in virtual time: node, fake Discord, fake site and bots in this process on one clock,
// which stands still while anything is left to do. What a scenario hears there does not depend on the machine.

import { prepareCodecs, VirtualGround } from "../../lab/simulate/virtual-ground.ts";
import { Stage, type StageOptions } from "../../lab/stage/stage.ts";

export class VirtualStage {
  readonly stage: Stage;
  readonly #ground: VirtualGround;

  private constructor(stage: Stage, ground: VirtualGround) {
    this.stage = stage;
    this.#ground = ground;
  }

  static async start({ seed = 1, ...options }: StageOptions & { readonly seed?: number } = {}): Promise<VirtualStage> {
    const ground = new VirtualGround({ seed, codecs: await prepareCodecs() });
    return new VirtualStage(await Stage.start({ ...options, ground }), ground);
  }

  get clock(): VirtualGround["clock"] {
    return this.#ground.clock;
  }

  /** Lets time pass until this is done. What it waits for must be done by the stage, not by the world outside. */
  run<T>(story: () => Promise<T>): Promise<T> {
    return this.clock.drive(story());
  }

  close(): Promise<void> {
    return this.run(() => this.stage.close());
  }
}
