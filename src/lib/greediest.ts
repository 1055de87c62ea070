// Who loses when a bound that all share is reached. A leaf but for counts.ts and owners.ts, on all threads.

import { Counts } from "./counts.ts";
import { moreThan, type Owner } from "./owners.ts";

/**
 * The last item of the owner with most of them, by account and then by client. `weightOf`: what an item counts, 1 by
 * default. Undefined where there are no items.
 */
export function greediest<Item>(
  items: Iterable<Item>,
  ownerOf: (item: Item) => Owner,
  weightOf: (item: Item) => number = () => 1,
): Item | undefined {
  const owned = [...items].map((item) => ({ item, owner: ownerOf(item) }));
  const counts = new Counts();
  for (const { item, owner } of owned) counts.addEach(owner, weightOf(item));
  let heaviest = owned[0];
  for (const candidate of owned) {
    if (heaviest === undefined || moreThan(candidate.owner, heaviest.owner, counts) >= 0) heaviest = candidate;
  }
  return heaviest?.item;
}
