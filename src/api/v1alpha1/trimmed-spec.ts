/** The parts that a copy of a spec lacks. */
export interface Trimmed {
  /** The hash of the whole spec or template, from the function that hashes whole specs. */
  readonly hash: string;
  /** True if `offers` have more bytes than a copy keeps; their filters were left out, so no search can use them. */
  readonly offerBytes?: number;
}

const TRIMMED = Symbol('trimmed');

/** Maximum bytes of `offers`; an object with more is refused. */
export const MAX_OFFER_BYTES = 32_768;

/** Returns the same spec, or template, marked as trimmed. A copy by spread keeps the mark; JSON does not show it. */
export function markTrimmed<T extends object>(part: T, trimmed: Trimmed): T {
  return { ...part, [TRIMMED]: trimmed };
}

/** Returns the left-out parts; undefined if the spec is whole. */
export function trimmedOf(part: object): Trimmed | undefined {
  return (part as { readonly [TRIMMED]?: Trimmed })[TRIMMED];
}
