import { describe, expect, test } from 'vitest';
import { accountWith, observed, proven, session } from '../../../test/builders/observed-account.ts';
import type { MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import { decide } from './decide.ts';
import { rollbackRecord } from './incidents.ts';
import type { Observed, SessionFacts } from './types.ts';

interface Given {
  readonly status?: MarketplaceAccountStatus;
  /** Value of the annotation. */
  readonly word?: string;
  readonly found?: readonly string[];
  /** Confirmation that the sweep knew when it found them. */
  readonly confirmedAt?: number;
  readonly facts?: Partial<SessionFacts>;
}

function given({ status = {}, word, found = [], confirmedAt = 0, facts = {} }: Given): Observed {
  const annotations = word === undefined ? {} : { 'gpurental.dev/confirm-rollback': word };
  const findings = { orphans: found, unsettled: [], rolledBack: found, confirmedAt, copied: [] };
  return observed({
    account: accountWith({ metadata: { annotations }, status }),
    session: session({ findings, ...facts }),
  });
}

const record = (facts: Given) => rollbackRecord(given(facts));

const NOON = Date.parse('2026-11-20T12:00:00Z');

describe('what a sweep found to be rolled back', () => {
  test('is written down', () => {
    expect(record({ found: ['7', '5'] })).toStrictEqual({ rolledBack: ['5', '7'] });
    expect(decide(given({ found: ['5'] })).status.rolledBack).toEqual(['5']);
  });

  test('stays when no sweep finds it any more, and others come to it', () => {
    expect(record({ status: { rolledBack: ['5'] } })).toEqual({ rolledBack: ['5'] });
    expect(record({ status: { rolledBack: ['5'] }, found: ['4', '5'] })).toEqual({ rolledBack: ['4', '5'] });
  });

  test('stays while there is no session', () => {
    const alone = { ...given({ status: { rolledBack: ['5'] } }), session: undefined };
    expect(decide(alone).status.rolledBack).toEqual(['5']);
  });

  test('is never more than the status can hold', () => {
    const found = Array.from({ length: 300 }, (_, id) => String(id));
    expect(record({ found }).rolledBack).toEqual(found.slice(0, 256));
  });

  test('goes when the machine is gone for sure', () => {
    const status = { rolledBack: ['5', '6'] };
    const gone = { provenGone: new Set(['5']) };
    expect(record({ status, facts: gone })).toEqual({ rolledBack: ['6'] });
    const open = { type: 'open', since: 1, cause: 'listFailed', unhealthy: 0, message: '' } as const;
    expect(record({ status, facts: { ...gone, breaker: open } })).toEqual({ rolledBack: ['5', '6'] });
    const stranger = proven({ login: { url: 'https://market.example', userId: '9' } });
    const login = { url: 'https://market.example', userId: '7', provenAt: '2026-11-20T00:00:00Z' };
    const { account, ...rest } = given({ status: { ...status, login }, facts: gone });
    expect(rollbackRecord({ ...rest, account, proof: stranger }).rolledBack).toEqual(['5', '6']);
  });

  test('is nothing where nothing is', () => {
    expect(record({})).toEqual({});
  });
});

describe('a person confirms', () => {
  const confirmed = { rolledBack: [], rollbackConfirmed: 'b', rollbackConfirmedAt: '2026-11-20T12:00:00Z' };

  test('by a value that is new since the machines were written down', () => {
    expect(record({ status: { rolledBack: ['5'] }, word: 'b', found: ['5'] })).toEqual(confirmed);
    expect(record({ status: { rolledBack: ['5'], rollbackConfirmed: 'a' }, word: 'b' })).toEqual(confirmed);
  });

  test('not by a value that was handled before', () => {
    const status = { rolledBack: ['5'], rollbackConfirmed: 'b' };
    expect(record({ status, word: 'b' })).toEqual({ rolledBack: ['5'], rollbackConfirmed: 'b' });
    expect(record({ status: { rolledBack: ['5'] } })).toEqual({ rolledBack: ['5'] });
  });

  test('not by a value that a backup brought without a status', () => {
    const restored = decide(given({ word: 'old' })).status;
    expect(restored).toMatchObject({ rollbackConfirmed: 'old' });
    expect(restored.rollbackConfirmedAt).toBeUndefined();
    const found = decide(given({ status: restored, word: 'old', found: ['5'] })).status;
    expect(found.rolledBack).toEqual(['5']);
    expect(record({ status: found, word: 'old' }).rolledBack).toEqual(['5']);
    expect(record({ status: found, word: 'new' }).rolledBack).toEqual([]);
  });

  test('not by a value that is there when the machines are first found', () => {
    const status = decide(given({ word: 'b', found: ['5'] })).status;
    expect(status).toMatchObject({ rolledBack: ['5'], rollbackConfirmed: 'b' });
    expect(record({ status, word: 'b' }).rolledBack).toEqual(['5']);
  });

  test('and the sweep before it is not listened to any more, the next one is', () => {
    expect(record({ status: confirmed, word: 'b', found: ['5'] }).rolledBack).toEqual([]);
    const knowing = { status: confirmed, word: 'b', found: ['6'], confirmedAt: NOON };
    expect(record(knowing).rolledBack).toEqual(['6']);
  });

  test('by the clock that dates machines, and waits for it', () => {
    const latched = given({ status: { rolledBack: ['5'], rollbackConfirmed: 'a' }, word: 'b' });
    const ahead = { ...latched, now: NOON + 3_600_000, serviceNow: NOON };
    expect(rollbackRecord(ahead)).toEqual(confirmed);
    const unknown = { ...latched, serviceNow: undefined };
    expect(rollbackRecord(unknown)).toEqual({ rolledBack: ['5'] });
    expect(decide(unknown).status).toMatchObject({ rolledBack: ['5'], rollbackConfirmed: 'a' });
  });

  test('which says nothing about rentals on record', () => {
    const status = { rolledBack: ['5'], lastRentalAt: '2026-11-20T11:00:00Z' };
    expect(decide(given({ status, word: 'b' })).status.lastRentalAt).toBe('2026-11-20T11:00:00Z');
  });
});
