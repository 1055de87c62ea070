// The canonical form of names in configurations and options of plugins, for comparison. Any thread.

/** Spring's relaxed spelling: case, dashes and underscores do not count. */
export function canonicalName(name: string): string {
  return name.replaceAll(/[-_]/g, "").toLowerCase();
}
