// What a DAVE session remembers of the current epoch: which proposals it has seen, so that repeated ones are not answered
// twice, and which commits it made, so that it recognises its own. Forgotten when the epoch changes. On the audio thread.

/** The gateway bundles changes: real epochs have one or two. */
const REMEMBERED_MAX = 32;

export class EpochMemory {
  #proposals: Buffer[] = [];
  #commits: Buffer[] = [];

  hasSeen(proposals: Buffer): boolean {
    return this.#proposals.some((seen) => seen.equals(proposals));
  }

  rememberProposals(proposals: Buffer): void {
    remember(this.#proposals, proposals);
  }

  rememberCommit(commit: Buffer): void {
    remember(this.#commits, commit);
  }

  /** "latest": the last one we made. "outdated": one before it, which the MLS library can no longer follow. */
  whose(commit: Buffer): "latest" | "outdated" | "foreign" {
    if (this.#commits.at(-1)?.equals(commit)) return "latest";
    return this.#commits.some((own) => own.equals(commit)) ? "outdated" : "foreign";
  }

  clear(): void {
    this.#proposals = [];
    this.#commits = [];
  }
}

function remember(list: Buffer[], item: Buffer): void {
  if (list.length >= REMEMBERED_MAX) list.shift();
  list.push(item);
}
