// Names as they are compared where operators write them, in configurations and options of plugins. A leaf, any thread.

/** Spring's relaxed spelling: case, dashes and underscores do not count. */
export function canonicalName(name: string): string {
  return name.replaceAll(/[-_]/g, "").toLowerCase();
}
