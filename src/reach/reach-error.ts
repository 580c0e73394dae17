/** Kind of a failure: `input` is not understood, `missing` does not exist, and `failed` is any other. */
export type ReachFailure = 'input' | 'missing' | 'failed';

/** A machine, a path or a port that cannot be reached, in words for people. */
export class ReachError extends Error {
  override readonly name = 'ReachError';
  readonly kind: ReachFailure;
  /** A step that helps. */
  readonly remedy: string | undefined;

  constructor(kind: ReachFailure, message: string, remedy?: string) {
    super(message);
    this.kind = kind;
    this.remedy = remedy;
  }
}
