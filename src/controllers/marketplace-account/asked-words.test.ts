import { describe, expect, test } from 'vitest';
import { accountWith, observed } from '../../../test/builders/observed-account.ts';
import { marketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import { decide } from './decide.ts';

const WORDS = ['requested-at', 'close-breaker', 'confirm-rollback'];

function decided(value: string) {
  const annotations = Object.fromEntries(WORDS.map((word) => [`gpurental.dev/${word}`, value]));
  const status = { rolledBack: ['5'] };
  return decide(observed({ account: accountWith({ metadata: { annotations }, status }) })).status;
}

describe('what a person writes into annotations of an account', () => {
  test.each(['', 'x'.repeat(300)])('is echoed in a status that the API server takes: %o', (value) => {
    expect(marketplaceAccountStatus.safeParse(decided(value)).error).toBeUndefined();
  });

  test('confirms and closes nothing where it is empty', () => {
    expect(decided('')).toMatchObject({ rolledBack: ['5'] });
    expect(decided('')).not.toHaveProperty('breaker');
  });

  test('is used up where it is longer than the status can say', () => {
    const longest = 'x'.repeat(253);
    expect(decided('x'.repeat(300))).toMatchObject({
      requestedAt: longest,
      breaker: { closedBy: longest },
      rolledBack: [],
      rollbackConfirmed: longest,
    });
  });
});
