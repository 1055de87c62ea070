// Codes of WebSocket closes that more than one place tells of (RFC 6455 section 7.4). Any thread.

/** A connection that was lost without a close frame, or that never answered in time. Never sent, only told. */
export const CLOSE_ABNORMAL = 1006;
