import { describe, expect, test } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import {
  at,
  facts,
  type Given,
  given,
  holding,
  row,
  time,
  withMachine,
} from '../../../../test/builders/observed.ts';
import { decide } from '../decide.ts';

const { table, close } = decisionTables('adopting');

const watch = { adopt: { instanceId: '40', policy: 'Observe' } } as const;
const manage = { adopt: { instanceId: '40' } } as const;
const allowed = { adoption: 'Unlabelled' } as const;
const target = (change: Parameters<typeof row>[0] = {}) => ({
  adoptTarget: { row: row({ id: '40', ...change }), ownership: { type: 'unlabelled' as const } },
});

const takeable = {
  ...{ spec: manage, facts: allowed, list: target(), finalizers: ['gpurental.dev/machine'] },
};

describe('a machine that is to be taken over', () => {
  table([
    [
      'is looked for in a complete list',
      { spec: manage, facts: allowed, list: 'none' },
      { rule: 'wait-for-list', afterMs: 5000, onList: true },
    ],
    [
      'is taken without a price where the service names none',
      {
        spec: manage,
        facts: allowed,
        list: target({ pricePerHour: undefined }),
        finalizers: ['gpurental.dev/machine'],
      },
      { rule: 'adopt', record: 'status', phase: 'Provisioning', says: 'Provisioning', afterMs: 0 },
    ],
    [
      'is read before it is claimed (A3)',
      { ...takeable, observed: { labelReads: new Map() } },
      { reads: [{ type: 'confirmLabel', instanceId: '40' }] },
    ],
    [
      'is not claimed while its read shows the label of somebody (A3)',
      { ...takeable, observed: { labelReads: new Map([['40', row({ id: '40', label: 'mine' })]]) } },
      { rule: 'adopt-unconfirmed', afterMs: 5000, onList: true },
    ],
    [
      'is not claimed while its read fails (A3)',
      { ...takeable, observed: { labelReads: new Map([['40', 'failed']]) } },
      { rule: 'adopt-unconfirmed', afterMs: 5000, onList: true },
    ],
    [
      'is left alone for a namespace that the account does not allow',
      { spec: manage, facts: { ...allowed, permitted: false }, list: target() },
      { rule: 'refuse-adoption', phase: 'Failed', says: 'stalled: NotAllowedByAccount', afterMs: 300_000 },
    ],
    [
      'is waited for while it is being found out whether the account allows the namespace',
      { spec: manage, facts: { ...allowed, permitted: undefined }, list: target() },
      { rule: 'wait-for-list', afterMs: 5000, onList: true },
    ],
    [
      'is waited for while it is being found out what other accounts of the login allow (H3)',
      { spec: manage, facts: { adoption: undefined }, list: target() },
      { rule: 'wait-for-list', afterMs: 5000, onList: true },
    ],
    [
      'is not taken by an account that is not ready, such as one with a narrow key (H3)',
      {
        spec: manage,
        account: { state: 'notReady', reason: 'KeyTooNarrow', message: 'Too narrow.', facts: facts(allowed) },
        list: target(),
        finalizers: ['gpurental.dev/machine'],
      },
      { rule: 'refuse-adoption', phase: 'Pending', says: 'AccountNotReady', onList: true },
    ],
    [
      'is not taken while the object is paused',
      { spec: { ...manage, paused: true }, facts: allowed, list: target() },
      { rule: 'paused', phase: 'Paused', says: 'Paused' },
    ],
  ]);
});

describe('what a machine was before it was taken over', () => {
  const rentedLongAgo = { startedAt: at(-40 * 86_400), label: null };
  const statusBy = (situation: Given) => {
    const step = decide(given(situation));
    return step.type === 'decision' ? step.status?.fields : undefined;
  };
  const adopted = (situation: Given = {}) =>
    statusBy({
      spec: manage,
      list: target(rentedLongAgo),
      finalizers: ['gpurental.dev/machine'],
      ...situation,
      facts: { ...allowed, ...situation.facts },
    });

  test('counts neither as its age nor as its cost', () => {
    expect(adopted()).toMatchObject({
      firstRentedAt: time(0),
      rentedAt: time(-40 * 86_400),
      cost: { accrued: '0.00', since: time(0), pricePerHour: '0.50' },
    });
  });

  test('is not made good when it is listed for the first time after that', () => {
    const limits = { maxLifetime: '1h', maxTotalCost: '1' };
    const status = adopted() ?? {};
    const later = withMachine(
      { ...rentedLongAgo, id: '40', label: 'gpurental1:x' },
      { spec: { ...manage, ...limits }, status: { ...status, runningAt: undefined } },
    );
    expect(statusBy(later)?.cost).toMatchObject({ accrued: '0.00', since: time(0) });
    expect(decide(given(later))).toMatchObject({ rule: 'run', actions: [] });
  });

  test('is distinguished by the clock of the service', () => {
    const fields = adopted({ facts: { serviceTime: { type: 'known', at: at(-3600), isConfirmed: true } } });
    expect(fields).toMatchObject({ firstRentedAt: time(-3600), cost: { since: time(-3600) } });
  });

  test('is not money of the object that has watched it, either', () => {
    const cost = { accrued: '0.00', pricePerHour: '0.50', since: time(-40 * 86_400) };
    expect(adopted({ status: { instanceId: '40', cost } })?.cost).toEqual({
      accrued: '0.00',
      pricePerHour: '0.50',
      since: time(0),
    });
  });
});

describe('a machine that is to be watched', () => {
  table([
    [
      'is looked for, too',
      { spec: watch, facts: allowed, list: 'none' },
      { rule: 'wait-for-list', afterMs: 5000, onList: true },
    ],
    [
      'is missed where there is none',
      { spec: watch, facts: allowed },
      { rule: 'refuse-adoption', phase: 'Failed', says: 'stalled: AdoptionTargetInvalid', afterMs: 60_000 },
    ],
    [
      'is not shown any more once it is gone: neither its address nor what it costs',
      { spec: watch, facts: allowed, status: holding({ claim: undefined, endpoint: '203.0.113.5:20022' }) },
      { rule: 'refuse-adoption', phase: 'Failed', says: 'stalled: AdoptionTargetInvalid', afterMs: 60_000 },
    ],
    [
      'is shown while it does not run',
      { spec: watch, facts: allowed, list: target({ state: 'stopped' }) },
      { rule: 'observe', phase: 'Observed', says: 'NotRunning' },
    ],
    [
      'is shown while its host is offline',
      { spec: watch, facts: allowed, list: target({ state: 'offline' }) },
      { rule: 'observe', phase: 'Observed', says: 'NotRunning' },
    ],
  ]);
});

close();
