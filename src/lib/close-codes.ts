// WebSocket close codes that several modules use (RFC 6455 section 7.4). Any thread.

/** A normal, requested close. */
export const CLOSE_NORMAL = 1000;

/** The node shuts down. The other side may come back to another. */
export const CLOSE_GOING_AWAY = 1001;

/** The other side broke a rule: the credentials it has shown are no longer valid. */
export const CLOSE_POLICY = 1008;

/**
 * A connection that was lost without a close frame, or that never answered in time. Never sent, only reported locally.
 */
export const CLOSE_ABNORMAL = 1006;
