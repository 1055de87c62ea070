// Which protocol is spoken. Main thread.

/** The answer of `GET /version`: the release whose protocol we speak, as clients derive their behaviour from it. */
export const PROTOCOL_VERSION = "4.2.2";
