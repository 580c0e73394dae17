import type { Market, MarketOptions, OpenMarket } from '../market/market.ts';
import { openVast } from './vast/vast-market.ts';

/** Markets, by their names in accounts. */
const MARKETS: Readonly<Record<string, OpenMarket>> = { Vast: openVast };

/** Opens a login of the market with that name. Throws a RangeError if there is no such market. */
export function openMarket(name: string, options: MarketOptions): Market {
  const open = MARKETS[name];
  if (!open)
    throw new RangeError(
      `no market ${JSON.stringify(name)}: it is one of ${Object.keys(MARKETS).join(', ')}`,
    );
  return open(options);
}
