import { OFFER_FIELD_ROWS, type OfferFieldRow } from './offer-field-rows.ts';

/** Every field of an offer that can be filtered, sorted or shown, by its wire name. */
export const OFFER_FIELDS: ReadonlyMap<string, OfferFieldRow> = new Map(
  OFFER_FIELD_ROWS.map((row) => [row.name, row]),
);

/** Names that people use, and the wire names that stand for them. */
export const FIELD_ALIASES: ReadonlyMap<string, string> = new Map([
  ['cuda_vers', 'cuda_max_good'],
  ['display_active', 'gpu_display_active'],
  ['dlperf_usd', 'dlperf_per_dphtotal'],
  ['dph', 'dph_total'],
  ['dphtotal', 'dph_total'],
  ['flops_usd', 'flops_per_dphtotal'],
  ['gpu_totalram', 'gpu_total_ram'],
  ['reliability2', 'reliability'],
]);

/** What a name turned out to be. */
export type FieldLookup =
  | { readonly type: 'known'; readonly field: OfferFieldRow }
  /** `nearest`: what was probably meant. */
  | { readonly type: 'unknown'; readonly nearest: string | undefined };

/** The field of that name or alias; otherwise the nearest name, if one is near. */
export function findOfferField(name: string): FieldLookup {
  const field = OFFER_FIELDS.get(FIELD_ALIASES.get(name) ?? name);
  return field ? { type: 'known', field } : { type: 'unknown', nearest: nearestName(name) };
}

/** One sentence for a name that is no field: which name, and what to write instead. */
export function unknownFieldMessage(name: string): string {
  const nearest = nearestName(name);
  const hint =
    nearest === undefined ? 'docs/reference/offer-fields.md lists them' : `did you mean "${nearest}"?`;
  return `"${name}" is no field of an offer: ${hint}`;
}

function nearestName(name: string): string | undefined {
  const most = Math.max(1, Math.floor(name.length / 3));
  let best: { name: string; distance: number } | undefined;
  for (const candidate of [...OFFER_FIELDS.keys(), ...FIELD_ALIASES.keys()]) {
    const distance = editDistance(name.toLowerCase(), candidate);
    if (distance <= most && distance < (best?.distance ?? Number.POSITIVE_INFINITY)) {
      best = { name: candidate, distance };
    }
  }
  return best?.name;
}

/** Least number of characters added, removed or replaced (Levenshtein). */
function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [row, leftCharacter] of [...left].entries()) {
    const current = [row + 1];
    for (const [column, rightCharacter] of [...right].entries()) {
      const replaced = (previous[column] ?? 0) + (leftCharacter === rightCharacter ? 0 : 1);
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}
