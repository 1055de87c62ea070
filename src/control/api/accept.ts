// Content negotiation, as much as the protocol needs (protocol-v4.md section 1.1). Main thread.

/** Whether a client with this Accept header takes `type`. No header takes everything. */
export function accepts(header: string | undefined, type: string): boolean {
  return header === undefined || header.trim() === "" || preferred(header, [type]) !== undefined;
}

/** The one of `types` that the client prefers; the first of `types` if it has no preference. */
export function preferred(header: string, types: readonly string[]): string | undefined {
  const ranges = header
    .split(",")
    .map(parseRange)
    .filter(({ quality }) => quality > 0)
    .sort((first, second) => second.quality - first.quality);
  for (const { range } of ranges) {
    const match = types.find((type) => isWithin(type, range));
    if (match !== undefined) return match;
  }
  return undefined;
}

function parseRange(text: string): { range: string; quality: number } {
  const [range = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const quality = parameters.find((parameter) => parameter.startsWith("q="));
  return { range, quality: quality === undefined ? 1 : Number(quality.slice(2)) || 0 };
}

function isWithin(type: string, range: string): boolean {
  if (range === "*/*" || range === type) return true;
  const [kind, subtype] = type.split("/");
  return range === `${kind}/*` || range === `${kind}/*+${subtype}`;
}
