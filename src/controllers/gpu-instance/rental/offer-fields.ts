import type { GpuInstanceSpec } from '../../../api/v1alpha1/gpu-instance.ts';
import { findOfferField, unknownFieldMessage } from '../../../marketplace/offers/offer-fields.ts';

interface NamedField {
  /** Where it stands in the object. */
  readonly path: string;
  readonly name: string;
}

/**
 * What is wrong with the fields that offers are filtered and sorted by; undefined where nothing is. A marketplace
 * may pass over a field that it does not know, and then rents what was to be ruled out.
 */
export function wrongOfferFields({ offers = [] }: Pick<GpuInstanceSpec, 'offers'>): string | undefined {
  const wrong = offers.flatMap(namedFields).filter(({ name }) => findOfferField(name).type === 'unknown');
  if (wrong.length === 0) return undefined;
  const told = wrong.map(({ path, name }) => `${path}: ${unknownFieldMessage(name)}`).join('; ');
  return told.endsWith('?') ? told : `${told}.`;
}

function namedFields(
  { filters = [], order }: NonNullable<GpuInstanceSpec['offers']>[number],
  index: number,
): readonly NamedField[] {
  const offer = `spec.offers[${index}]`;
  return [
    ...filters.map(({ field }, at) => ({ path: `${offer}.filters[${at}].field`, name: field })),
    ...order.map(({ field }, at) => ({ path: `${offer}.order[${at}].field`, name: field })),
  ];
}
