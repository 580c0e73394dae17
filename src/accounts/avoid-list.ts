/** What is kept off: one offer (10 min, in memory), one machine (1 h) or all machines of a host (24 h). */
export type AvoidTarget =
  | { readonly type: 'offer'; readonly id: number }
  | { readonly type: 'machine'; readonly id: number }
  | { readonly type: 'host'; readonly id: number };

/** The ids to leave out at this moment, as plain data for a pure choice. */
export interface Avoided {
  readonly offers: ReadonlySet<number>;
  readonly machines: ReadonlySet<number>;
  readonly hosts: ReadonlySet<number>;
}

/** An account's memory of what failed. Times double on repetition and are capped. */
export interface AvoidList {
  current(): Avoided;
  /** Takes effect at once for every object of the account; the machine and host part is made durable soon after. */
  add(target: AvoidTarget, reason: string): void;
}
