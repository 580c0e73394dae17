import { describe, expect, test } from 'vitest';
import { accountWith, observed, session } from '../../../test/builders/observed-account.ts';
import type { MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import { stalled } from './conditions.ts';
import { massOrphanRecord } from './incidents.ts';

interface Setting {
  readonly found?: readonly string[];
  readonly gone?: readonly string[];
  readonly word?: string;
  readonly status?: Partial<MarketplaceAccountStatus>;
}

function situation({ found = [], gone = [], word, status = {} }: Setting) {
  const annotations = word === undefined ? {} : { 'gpurental.dev/confirm-orphans': word };
  const findings = {
    ...{ orphans: found, unsettled: [], rolledBack: [], confirmedAt: 0, copied: [] },
    massOrphaned: found,
  };
  return observed({
    account: accountWith({ metadata: { annotations }, status }),
    session: session({ findings, provenGone: new Set(gone) }),
  });
}

const record = (setting: Setting) => massOrphanRecord(situation(setting));

describe('machines that lost their objects at once (H5)', () => {
  test('are written down, and the account waits for a person', () => {
    expect(record({ found: ['7', '5'] })).toStrictEqual({ massOrphaned: ['5', '7'] });
    expect(stalled(situation({ found: ['7', '5'] }))).toMatchObject({
      reason: 'OrphansHeld',
      message: expect.stringContaining(
        '2 machines lost their GpuInstances at once and are not destroyed: 5, 7.',
      ),
    });
    expect(stalled(situation({}))).toBeUndefined();
  });

  test('stay on record after a restart, also if fewer are found', () => {
    expect(record({ found: [], status: { massOrphaned: ['5', '7'] } })).toEqual({ massOrphaned: ['5', '7'] });
  });

  test('leave the record when they are gone', () => {
    expect(record({ gone: ['5'], status: { massOrphaned: ['5', '7'] } })).toEqual({ massOrphaned: ['7'] });
  });

  test('are confirmed by a value that was not there before', () => {
    const status = { massOrphaned: ['5', '7'] };
    expect(record({ found: ['5', '7'], word: 'now', status })).toEqual({
      massOrphaned: [],
      orphansConfirmed: ['5', '7'],
      orphansConfirmedBy: 'now',
    });
    const old = { ...status, orphansConfirmedBy: 'now' };
    expect(record({ found: ['5', '7'], word: 'now', status: old })).toMatchObject({
      massOrphaned: ['5', '7'],
    });
  });

  test('leave the list of confirmed machines when they are gone', () => {
    const status = { massOrphaned: ['7'], orphansConfirmed: ['5'], orphansConfirmedBy: 'old' };
    expect(record({ gone: ['5'], word: 'now', status })).toStrictEqual({
      massOrphaned: [],
      orphansConfirmed: ['7'],
      orphansConfirmedBy: 'now',
    });
  });

  test('are never more than the status can hold', () => {
    const found = Array.from({ length: 300 }, (_, id) => String(id));
    expect(record({ found })).toStrictEqual({ massOrphaned: found.slice(0, 256) });
  });

  test('are no news once they are confirmed', () => {
    const status = { massOrphaned: [], orphansConfirmed: ['5', '7'], orphansConfirmedBy: 'now' };
    expect(record({ found: ['5', '7'], word: 'now', status })).toMatchObject({ massOrphaned: [] });
    expect(record({ found: ['5', '9'], word: 'now', status })).toMatchObject({ massOrphaned: ['9'] });
  });

  test('are not confirmed by a value from before they were found', () => {
    expect(record({ found: ['5'], word: 'old' })).toEqual({ massOrphaned: ['5'], orphansConfirmedBy: 'old' });
  });
});
