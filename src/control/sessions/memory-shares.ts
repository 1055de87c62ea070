// The memory that clients make the node hold, shared out between accounts and between the sessions of each, so that
// none of them can take it from the others. Main thread; sessions.ts opens a part of it for each session.
//
//   node ── account ── session ── player, resume queue     (stored)
//   node ── account ── session                             (buffered)

import { ByteBudget } from "../../lib/byte-budget.ts";

/** Share of the limit that one session may store. */
const SESSION_SHARE = 0.5;
/** Buffers may have this share of what clients may store. */
const BUFFERED_SHARE = 0.5;
/**
 * Shares of the limit. An account with more than `own` must leave `left` to others, and a session with more than `own`
 * must leave `left` to the others of its account. A lone account gets three quarters.
 */
const ACCOUNT_RESERVE = { own: 1 / 16, left: 3 / 16 };
const SESSION_RESERVE = { own: 1 / 32, left: 1 / 16 };
/** Of buffers: few sessions that do not read must not have the messages of the others cut off. */
const SESSION_BUFFER_RESERVE = { own: 1 / 512, left: 1 / 4 };
/** A session itself, with its timers, resume key and log fields: an estimate. */
const SESSION_SIZE_BYTES = 8 * 1024;

/** The budgets of one session. */
export interface SessionMemory {
  /** What the session and its players keep. */
  readonly stored: ByteBudget;
  /** What is under way between client and session: messages that the client has not read, or not sent to their end. */
  readonly buffered: ByteBudget;
  /** Releases everything. */
  close(): void;
}

interface Account {
  readonly stored: ByteBudget;
  readonly buffered: ByteBudget;
  sessionCount: number;
}

/** One for the node. */
export class MemoryShares {
  readonly #stored: ByteBudget;
  readonly #buffered: ByteBudget;
  readonly #accounts = new Map<string, Account>();

  constructor({ limitBytes }: { readonly limitBytes: number }) {
    this.#stored = new ByteBudget({ owner: "the node", limitBytes });
    this.#buffered = new ByteBudget({ owner: "the node", limitBytes: limitBytes * BUFFERED_SHARE });
  }

  /** Whether `open` would succeed. */
  hasCapacity(account: string): boolean {
    const { stored } = this.#accounts.get(account) ?? this.#newAccount(account);
    return stored.hasCapacity(SESSION_SIZE_BYTES);
  }

  /** @throws NodeError "memory-exhausted" */
  open(accountName: string): SessionMemory {
    const account = this.#accounts.get(accountName) ?? this.#newAccount(accountName);
    account.stored.take(SESSION_SIZE_BYTES, "a session");
    const [stored, buffered] = [
      sessionBudget(account.stored, SESSION_RESERVE),
      sessionBudget(account.buffered, SESSION_BUFFER_RESERVE),
    ];
    account.sessionCount++;
    this.#accounts.set(accountName, account);
    let isOpen = true;
    return {
      stored,
      buffered,
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        stored.releaseAll();
        buffered.releaseAll();
        account.stored.release(SESSION_SIZE_BYTES);
        account.sessionCount--;
        if (account.sessionCount === 0) this.#accounts.delete(accountName);
      },
    };
  }

  #newAccount(name: string): Account {
    const share = (parent: ByteBudget): ByteBudget =>
      new ByteBudget({
        owner: `the ${name}`,
        limitBytes: parent.limitBytes,
        parent,
        reserve: reserveOf(parent, ACCOUNT_RESERVE),
      });
    return { stored: share(this.#stored), buffered: share(this.#buffered), sessionCount: 0 };
  }
}

function sessionBudget(parent: ByteBudget, reserve: typeof SESSION_RESERVE): ByteBudget {
  return new ByteBudget({
    owner: "the session",
    limitBytes: parent.limitBytes * SESSION_SHARE,
    parent,
    reserve: reserveOf(parent, reserve),
  });
}

function reserveOf({ limitBytes }: ByteBudget, { own, left }: typeof ACCOUNT_RESERVE) {
  return { ownBytes: limitBytes * own, leftBytes: limitBytes * left };
}
