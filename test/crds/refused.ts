/** Spec to submit to the API server, and its expected refusals. */
export interface Refused {
  /** Words after "refuses", or after "takes" if there are no refusals. */
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
