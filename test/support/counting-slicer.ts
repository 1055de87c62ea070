// A time slicer that counts, with a clock that stands still: how much work was done in steps, independent of the
// machine.

import { TimeSlicer } from "../../src/media/quota/time-slicer.ts";

export class CountingSlicer extends TimeSlicer {
  count = 0;

  override next(): Promise<void> {
    this.count += 1;
    return super.next();
  }
}
