import type { ObjectMeta } from '../../lib/object-meta.ts';

/** The most that a field of a status that echoes an annotation may hold. */
export const LONGEST_WORD = 253;

const HALF_CHARACTER = /[\ud800-\udbff]$/;

/**
 * What a person asks for by an annotation, as a status echoes it: cut to what its field holds, in whole characters. An
 * empty value asks for nothing. An echo that the schema refuses would make every write of that status fail.
 */
export function askedWord({ annotations }: ObjectMeta, annotation: string): string | undefined {
  const word = annotations?.[annotation];
  return word ? word.slice(0, LONGEST_WORD).replace(HALF_CHARACTER, '') : undefined;
}
