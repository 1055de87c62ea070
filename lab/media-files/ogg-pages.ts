// Changes to the pages of Ogg files, with right checksums. Lab only.

import { concat, crc, le } from "./bytes.ts";

const oggCrc = crc(32, 0x04c11db7);

/** Every page as `change` returns it, with the checksum it then needs. */
export function changePages(file: Uint8Array, change: (page: Uint8Array, index: number) => Uint8Array): Uint8Array {
  const pages: Uint8Array[] = [];
  for (let at = 0; at + 27 <= file.length; ) {
    const segmentCount = file[at + 26] ?? 0;
    const bodyBytes = file.subarray(at + 27, at + 27 + segmentCount).reduce((sum, size) => sum + size, 0);
    const end = at + 27 + segmentCount + bodyBytes;
    const page = new Uint8Array(change(Uint8Array.from(file.subarray(at, end)), pages.length));
    page.set(le(0, 4), 22);
    page.set(le(oggCrc(page), 4), 22);
    pages.push(page);
    at = end;
  }
  return concat(...pages);
}

/** The file twice, one behind the other, as two streams: the second has another serial number. */
export function chainWithItself(file: Uint8Array): Uint8Array {
  const second = changePages(file, (page) => {
    page[14] = (page[14] ?? 0) ^ 0xff;
    return page;
  });
  return concat(file, second);
}

/** All times later by this many samples, the header pages (granule 0) excepted. */
export function delayGranules(file: Uint8Array, samples: number): Uint8Array {
  return changePages(file, (page) => {
    const view = Buffer.from(page);
    const granule = view.readBigInt64LE(6);
    if (granule > 0n) view.writeBigInt64LE(granule + BigInt(samples), 6);
    return view;
  });
}
