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
  {
    name: 'reply-proves-rental',
    loses: 'the lists that prove the machine of a reply at a market that keeps no labels',
    file: 'controllers/gpu-instance/record-proof.ts',
    find: "return labelEchoOf(observed) !== 'notEchoed' || keepsNoLabels(observed);",
    replace: "return labelEchoOf(observed) !== 'notEchoed';",
    market: 'toy',
  },
  {
    name: 'stock-of-one',
    loses: 'rentals beside each other of one kind of machine',
    file: 'accounts/pending-rentals.ts',
    find: 'return this.#stock.get(offerId)?.count ?? 1;',
    replace: 'return Math.min(1, this.#stock.get(offerId)?.count ?? 1);',
    market: 'toy',
  },
];
