import { Refusal } from './refusal.ts';

/** Most conditions, order entries, columns or ids of one call: more than any client sends, few enough to hold up nobody. */
export const MOST_TERMS = 256;

/** Refuses a longer list with 400 `invalid_request`; `what` names the field in the plural. */
export function requireFewTerms(count: number, what: string): void {
  if (count <= MOST_TERMS) return;
  throw new Refusal(400, 'invalid_request', `${what}: ${count} are given; send at most ${MOST_TERMS}.`);
}
