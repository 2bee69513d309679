export * from "./documents";

/** The path of the executable for this machine. */
export function executable(): string;
