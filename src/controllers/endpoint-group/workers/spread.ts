import type { EndpointGroupSpec } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import type { OfferRequirements } from '../../../api/v1alpha1/offer-requirements.ts';

type Offers = GpuInstance['spec']['offers'];

/** The definition of GpuInstance takes no more alternatives. */
const MOST_ALTERNATIVES = 8;
const MOST_VALUES = 64;
const MOST_FILTERS = 32;

/**
 * Alternatives for a worker that is to stand apart from its siblings: first each one away from them, then each one as
 * it is, so that it shares only when nothing else matches.
 */
export function spreadOffers(
  { spreadBy, template }: Pick<EndpointGroupSpec, 'spreadBy' | 'template'>,
  siblings: readonly GpuInstance[],
): Offers {
  const { offers } = template.spec;
  if (!offers || siblings.length === 0) return offers;
  switch (spreadBy) {
    case 'None':
      return offers;
    case 'Machine':
      return apartFrom(offers, 'machine_id', idsOf(siblings, 'machineId'));
    case 'Host':
      return apartFrom(offers, 'host_id', idsOf(siblings, 'hostId'));
    case 'Region':
      return inLeastUsedRegion(offers, siblings);
  }
}

function idsOf(siblings: readonly GpuInstance[], field: 'machineId' | 'hostId'): readonly string[] {
  return [...new Set(siblings.flatMap(({ status }) => status?.[field] ?? []))].map(String);
}

function apartFrom(offers: NonNullable<Offers>, field: string, values: readonly string[]): Offers {
  if (values.length === 0) return offers;
  const apart = { field, operator: 'NotIn' as const, values: values.slice(0, MOST_VALUES) };
  const away = offers.map(
    (offer): OfferRequirements => ({
      ...offer,
      filters: [apart, ...(offer.filters ?? [])].slice(0, MOST_FILTERS),
    }),
  );
  return [...away, ...offers].slice(0, MOST_ALTERNATIVES);
}

/** Only regions that the template names can be told apart: a worker's first alternative says which it was meant for. */
function inLeastUsedRegion(offers: NonNullable<Offers>, siblings: readonly GpuInstance[]): Offers {
  const uses = new Map<string, number>();
  for (const { spec } of siblings) {
    const regions = spec.offers?.[0]?.regions ?? [];
    const [region] = regions;
    if (region !== undefined && regions.length === 1) uses.set(region, (uses.get(region) ?? 0) + 1);
  }
  const away = offers.flatMap((offer): OfferRequirements[] => {
    const [least] = [...(offer.regions ?? [])].sort((a, b) => (uses.get(a) ?? 0) - (uses.get(b) ?? 0));
    return least === undefined ? [] : [{ ...offer, regions: [least] }];
  });
  return [...away, ...offers].slice(0, MOST_ALTERNATIVES);
}
