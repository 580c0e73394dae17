import { MarketplaceError } from '../../market/errors.ts';

/** No machine ever has it: destroying it only shows if the key may destroy. */
const NO_INSTANCE = '0';

/**
 * True if the key of `destroy` may destroy machines. The service checks permission before existence, so `notFound` shows
 * that it may. Rejects with the MarketplaceError of a call that shows neither.
 */
export async function mayDestroyBy(destroy: (id: string) => Promise<unknown>): Promise<boolean> {
  try {
    await destroy(NO_INSTANCE);
    return true;
  } catch (error) {
    if (!(error instanceof MarketplaceError)) throw error;
    if (error.kind === 'forbidden' || error.kind === 'unauthorized') return false;
    if (error.kind === 'notFound' || error.kind === 'invalidRequest' || error.kind === 'refused') return true;
    throw error;
  }
}
