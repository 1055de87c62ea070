// Which protocol is spoken. Main thread.

/** What `GET /version` answers: the release whose protocol we speak, as clients derive their behaviour from it. */
export const PROTOCOL_VERSION = "4.2.2";
