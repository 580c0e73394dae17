import { alternatives, nearestModels } from '../lib/text.ts';
import type { OffersResource } from '../markets/vast/offers/offers.ts';
import { ALL_OFFERS } from './gpu-models.ts';

/** Returns a sentence for each GPU name that no offer has, with the probable names. Costs one search. */
export async function unknownGpus(
  names: readonly string[],
  market: Pick<OffersResource, 'search'>,
): Promise<readonly string[]> {
  const known = [...new Set((await market.search(ALL_OFFERS)).flatMap(({ gpuName }) => gpuName ?? []))];
  return names
    .filter((name) => !known.includes(name))
    .map((name) => {
      const meant = nearestModels(name, known);
      const question =
        meant.length === 0 ? '' : ` Did you mean ${alternatives(meant.map((model) => `'${model}'`))}?`;
      return `No offer has the GPU ${name}.${question} gpu-rent list gpus shows all names.`;
    });
}
