/** What a copy of a spec left out of the object. */
export interface Trimmed {
  /** The hash of the whole spec or template, by the function that hashes whole ones. */
  readonly hash: string;
  /** `offers` have more bytes than a copy keeps; their filters were left out, so nothing can be searched by them. */
  readonly offerBytes?: number;
}

const TRIMMED = Symbol('trimmed');

/** Most bytes of `offers` that the operator works with; an object with more is refused. */
export const MAX_OFFER_BYTES = 32_768;

/** The same spec, or template, marked as trimmed. A copy made by spread keeps the mark; JSON does not show it. */
export function markTrimmed<T extends object>(part: T, trimmed: Trimmed): T {
  return { ...part, [TRIMMED]: trimmed };
}

/** What was left out of it; undefined if it is whole. */
export function trimmedOf(part: object): Trimmed | undefined {
  return (part as { readonly [TRIMMED]?: Trimmed })[TRIMMED];
}
