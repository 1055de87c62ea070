// Types of install-node.mjs.

/** Oldest first. */
export const VERSIONS: readonly string[];
export function installNode(version: string, folder: string): string;
