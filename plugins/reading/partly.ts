// Several requests for one answer, of which some may fail. Plugin thread.

/**
 * What the works that run at the same time result in. Undefined: it was not started, or failed while another one has a
 * result. Rejects with the first failure where none has.
 */
export async function settledOf<const Works extends readonly (Promise<unknown> | undefined)[]>(
  works: Works,
): Promise<{ readonly [Index in keyof Works]: Awaited<Works[Index]> | undefined }> {
  const settled = await Promise.allSettled(works);
  const values = settled.map((one) => (one.status === "fulfilled" ? one.value : undefined));
  const failed = settled.find((one) => one.status === "rejected");
  if (failed !== undefined && values.every((value) => value === undefined)) throw failed.reason;
  // A mapped tuple has the length and the order of its own works.
  return values as { readonly [Index in keyof Works]: Awaited<Works[Index]> | undefined };
}
