/** One word of the catalogue. */
export interface ReasonEntry {
  /**
   * `good`: nothing to do. `progress`: the operator is at work. `retryable`: it goes on by itself when the
   * cause ends. `terminal`: Stalled until a person acts.
   */
  readonly kind: 'good' | 'progress' | 'retryable' | 'terminal';
  /** What happened. */
  readonly sentence: string;
  /** What a person can do; left out where nothing is to be done. */
  readonly remedy?: string;
}

export const good = (sentence: string) => ({ kind: 'good', sentence }) as const;
export const progress = (sentence: string, remedy?: string) =>
  ({ kind: 'progress', sentence, ...(remedy && { remedy }) }) as const;
export const retryable = (sentence: string, remedy: string) =>
  ({ kind: 'retryable', sentence, remedy }) as const;
export const terminal = (sentence: string, remedy: string) =>
  ({ kind: 'terminal', sentence, remedy }) as const;
