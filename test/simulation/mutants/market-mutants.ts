import type { Mutant } from './mutant.ts';

/** Rules that assume what one market can do: only a market that cannot shows them. */
export const MARKET_MUTANTS: readonly Mutant[] = [
  {
    name: 'labels-always-kept',
    loses: 'rentals one after the other at a market that keeps no labels',
    file: 'accounts/feed-observer.ts',
    find: "return kept === 'always' ? 'echoed' : 'notEchoed';",
    replace: "return 'echoed';",
    market: 'toy',
  },
  {
    name: 'pool-without-stop',
    loses: 'the end of workers that a market cannot stop',
    file: 'controllers/endpoint-group/autoscale/autoscale.ts',
    find: 'input.hasStop === false ? hot.hot : limitTotal(input, pooled, hot.hot)',
    replace: 'limitTotal(input, pooled, hot.hot)',
    market: 'toy',
  },
];
