// Names of the positions that a channel can have. Audio thread.

/** F front, B back, S side; L left, R right, C centre; FLC and FRC between front and centre; LFE low frequencies. */
export type Speaker = "FL" | "FR" | "FC" | "LFE" | "BL" | "BR" | "SL" | "SR" | "BC" | "FLC" | "FRC";
