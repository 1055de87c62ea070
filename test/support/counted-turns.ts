// Turns that count themselves: with a clock that stands still, how much work was done in steps, whatever the machine.

import { ThreadTurns } from "../../src/media/budget/thread-turns.ts";

export class CountedTurns extends ThreadTurns {
  count = 0;

  override next(): Promise<void> {
    this.count += 1;
    return super.next();
  }
}
