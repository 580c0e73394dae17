import { MarketplaceError } from '../../market/errors.ts';

/** Id that no machine ever has: destroying it only shows whether the key may destroy. */
const NO_INSTANCE = '0';

/**
 * Returns true if the key of `destroy` may destroy machines. The service checks permission before existence, so
 * `notFound` proves permission. Rejects with the MarketplaceError of a call that proves neither.
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
