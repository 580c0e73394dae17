/** A spec that the API server is asked to take, and what it refusals. */
export interface Refused {
  /** Reads behind "refuses" or, where nothing is said, behind "takes". */
  readonly given: string;
  readonly name?: string;
  /** The spec before; then the row is an update. */
  readonly was?: unknown;
  readonly spec: unknown;
  /** The lines that kubectl prints; none where the object is taken. */
  readonly refusals: readonly string[];
  /** The refusal of strict field validation, where it comes first. */
  readonly strict?: string;
  /** The fixed message of the rule, where the line is made from values. */
  readonly covers?: string;
}
