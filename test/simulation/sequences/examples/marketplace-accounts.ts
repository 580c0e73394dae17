import { type JsonObject, objectAt } from '../../memory-kube/json.ts';
import { anyOf, type Change, type Examples, edits, IMMUTABLE, just, ONE_VALUE } from './examples.ts';

const limits =
  (more: JsonObject): Change =>
  (first) => ({ limits: { ...objectAt(first, 'limits'), ...more } });

export const MARKETPLACE_ACCOUNTS: Examples = {
  isOwn: anyOf([/^url$/, /^allowedNamespaces\.from$/, /^maxUnhealthy$/]),
  edits: (first) => [
    ...edits('taken', [
      just({ allowedNamespaces: { from: 'All' } }),
      just({ allowedNamespaces: { from: 'Selector', selector: { matchLabels: { team: 'ml' } } } }),
      just({
        allowedNamespaces: {
          from: 'Selector',
          selector: { matchExpressions: [{ key: 'team', operator: 'In', values: ['ml', 'web'] }] },
        },
      }),
      just({ maxUnhealthy: 0 }),
      just({ maxUnhealthy: 3 }),
      just({ maxUnhealthy: '100%' }),
      limits({ minCredit: '999999' }),
      limits({ maxPricePerHour: '0.10', maxSpendPerHour: '5' }),
    ])(first),
    ...edits('refusedByRule', [
      just({ url: 'https://another.example' }),
      just({ allowedNamespaces: { from: 'Selector' } }),
      just({ pollInterval: 'often' }),
      limits({ maxPricePerHour: '3', maxSpendPerHour: '2' }),
      just({ maxUnhealthy: '101%' }),
    ])(first),
  ],
  untaken: { url: IMMUTABLE, market: ONE_VALUE },
};
