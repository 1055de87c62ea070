// Codes of WebSocket closes that more than one place tells of (RFC 6455 section 7.4). Any thread.

/** All is well: the end was wanted. */
export const CLOSE_NORMAL = 1000;

/** The node shuts down. The other side may come back to another. */
export const CLOSE_GOING_AWAY = 1001;

/** The other side may not go on: what it has shown is no longer valid. */
export const CLOSE_POLICY = 1008;

/** A connection that was lost without a close frame, or that never answered in time. Never sent, only told. */
export const CLOSE_ABNORMAL = 1006;
