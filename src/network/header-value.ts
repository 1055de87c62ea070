// Reads one header of an HTTP answer. Audio, probe and plugin threads.

/** Header values by lower-case name, as undici returns them. */
export type HttpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The header's value, the first when it was sent several times, trimmed; undefined when missing or empty. */
export function headerOf(headers: HttpHeaders, name: string): string | undefined {
  const value = headers[name];
  const first = typeof value === "string" ? value : value?.[0];
  return first?.trim() || undefined;
}
