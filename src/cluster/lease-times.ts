// The times by which machines hold on to their sessions and take those of dead machines over. Each machine measures them
// with its own monotonic clock, from its own observations; no wall clocks are compared. Main thread.
//
// Why two machines never own one session. A machine that has lost its lease never gets it again: it takes a new id.
// 1. A machine holds its lease for LEASE_MS from the moment at which it SENT the last renewal that is known to be written.
//    Others see a renewal after that, and wait DEAD_MS. What they write then expects the revision that they saw, so that
//    any renewal they have not seen stops it, however late it arrives.
// 2. The one exception: a machine goes on without renewals while it has proof that NATS has no quorum, as nobody can have
//    written anything then. Others have not seen it change either, and must start waiting again after such a time. They
//    do when the renewals of their own do not come back within GAP_MS_MAX of sending the one before: no time without
//    quorum that is longer can escape them. So a proof counts as a renewal once it has lasted GAP_MS_MAX.
// 3. A shorter proof counts for GRACE_MS beyond the lease, which others wait for in any case.

/** From sending one renewal to sending the next. */
export const RENEW_MS = 2000;
/**
 * From sending a renewal that was written to the end of the lease. NATS servers that lose the leader of a stream elect
 * another after 4 to 11 s, without which nothing is written: that must not end anybody's sound.
 */
export const LEASE_MS = 18_000;
/** A machine is declared dead after this time without a change of its record. */
export const DEAD_MS = 20_000;
/** A machine without a change of its record for so long may stand still: its clients are not left to wait for it. */
export const SILENT_MS = 6000;
/** From sending a renewal to the return of the next one: longer times may have been times without quorum. */
export const GAP_MS_MAX = 5000;
/** Since the last renewal was sent: NATS servers are asked whether they are away for all. */
export const ASK_AFTER_MS = 6000;
export const ASK_EVERY_MS = 1000;
export const GRACE_MS = 1500;
/** Longest wait for the answer to one request to NATS. */
export const ANSWER_MS_MAX = 1000;
/** After a request that has failed. */
export const RETRY_MS = 250;
