import { describe, expect, test } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import {
  destroys,
  HOLD,
  lists,
  lost,
  OPEN_BREAKER,
  since,
} from '../../../../test/builders/ending-machine.ts';
import { at, given, row, withMachine } from '../../../../test/builders/observed.ts';
import { decide } from '../decide.ts';

const { table, close } = decisionTables('failing');

const tolerance = { replacement: { tolerance: { unknown: '90s', offline: '30s' } } };

describe('the tolerance of a host', () => {
  table([
    [
      'that is offline is its own',
      withMachine({ state: 'offline' }, { spec: tolerance, status: since('offline', -31) }),
      destroys('lost', 'HostOffline'),
    ],
    [
      'that is offline has not run out before',
      withMachine({ state: 'offline' }, { spec: tolerance, status: since('offline', -20) }),
      { rule: 'tolerate', phase: 'Lost', says: 'HostOffline', afterMs: 10000 },
    ],
    [
      'that is silent is its own',
      withMachine({ state: 'unseen' }, { spec: tolerance, status: since('unknown', -60) }),
      { rule: 'tolerate', phase: 'Lost', says: 'HostOffline', afterMs: 30000 },
    ],
    [
      'that is silent runs out',
      withMachine({ state: 'unseen' }, { spec: tolerance, status: since('unknown', -91) }),
      destroys('lost', 'HostOffline'),
    ],
  ]);
});

describe('a host that a single list shows to be away, where minutes lie between two lists', () => {
  const shown = { listsBegun: lists(-600, -90) };
  const list = { begunSteady: at(-90) };
  table([
    [
      'is looked at again by the next one before its machine is lost',
      withMachine({ state: 'offline' }, { status: since('offline', -90), list, observed: shown }),
      { rule: 'tolerate', phase: 'Lost', says: 'HostOffline', onList: true },
    ],
    [
      'is not waited for where nothing is tolerated',
      withMachine(
        { state: 'offline' },
        {
          spec: { replacement: { tolerance: { offline: '0s' } } },
          status: since('offline', -90),
          list,
          observed: shown,
        },
      ),
      destroys('lost', 'HostOffline'),
    ],
  ]);
});

describe('a machine whose host is offline for lists', () => {
  const says = (read: 'lost' | 'absent' | 'well' | 'failed') => {
    const shown = { lost: row({ state: 'offline' }), well: row() };
    return { confirmed: { instanceId: '1', read: read === 'lost' || read === 'well' ? shown[read] : read } };
  };
  table([
    [
      'is lost if its single read says so, too (C2)',
      lost({ observed: says('lost') }),
      destroys('lost', 'HostOffline'),
    ],
    [
      'is not lost if its single read finds none while lists show it',
      lost({ observed: says('absent') }),
      { rule: 'tolerate', phase: 'Lost', says: 'HostOffline', onList: true },
    ],
    [
      'is not lost if its single read shows it well (C2)',
      lost({ observed: says('well') }),
      { rule: 'tolerate', phase: 'Lost', says: 'HostOffline', onList: true },
    ],
    [
      'is not lost if its single read fails (C2)',
      lost({ observed: says('failed') }),
      { rule: 'tolerate', phase: 'Lost', says: 'HostOffline', onList: true },
    ],
    [
      'is tolerated for longer by the time in which the breaker was open (C2)',
      withMachine(
        { state: 'offline' },
        { status: since('offline', -3600), facts: { openSpans: [{ from: at(-3580), until: at(-30) }] } },
      ),
      { rule: 'tolerate', phase: 'Lost', says: 'HostOffline', afterMs: 10_000 },
    ],
    [
      'is lost once it was bad for a minute without that time (C2)',
      withMachine(
        { state: 'offline' },
        { status: since('offline', -3600), facts: { openSpans: [{ from: at(-3580), until: at(-41) }] } },
      ),
      destroys('lost', 'HostOffline'),
    ],
    [
      'is not lost by a list that was begun before its tolerance was over (H1)',
      lost({ list: { begunSteady: at(-6) } }),
      { rule: 'tolerate', phase: 'Lost', says: 'HostOffline', onList: true },
    ],
  ]);

  table([
    [
      'is tolerated in the name of the breaker while that is open (C2)',
      withMachine({ state: 'offline' }, { status: since('offline', -20), facts: { breaker: OPEN_BREAKER } }),
      { rule: 'tolerate', phase: 'Lost', says: 'BreakerOpen', afterMs: 40_000 },
    ],
    [
      'is not read by itself while its end is held back (C2)',
      lost({ annotations: HOLD, observed: { confirmed: undefined } }),
      { rule: 'lost', phase: 'Lost', says: 'Paused', afterMs: 60_000 },
    ],
  ]);

  test('is read by itself before it is destroyed when lists show that its container ended', () => {
    const exited = withMachine(
      { state: 'exited' },
      {
        status: since('exited', -60),
        observed: { listsBegun: lists(-50, -40, -30, -1), confirmed: undefined },
      },
    );
    expect(decide(given(exited))).toEqual({
      type: 'read',
      requests: [{ type: 'confirm', instanceId: '1' }],
    });
  });

  test('is read by itself before it is destroyed (C2)', () => {
    expect(decide(given(lost({ observed: { confirmed: undefined } })))).toEqual({
      type: 'read',
      requests: [{ type: 'confirm', instanceId: '1' }],
    });
  });
});

describe('a machine that has ended', () => {
  table([
    [
      'is judged by no list from while the breaker was open (C2)',
      withMachine(
        { state: 'exited' },
        {
          status: since('exited', -60),
          facts: { openSpans: [{ from: at(-60), until: at(-5) }] },
          observed: { listsBegun: lists(-50, -40, -30, -20, -10, -1) },
        },
      ),
      { rule: 'tolerate', phase: 'Lost', says: 'Exited', onList: true },
    ],
  ]);

  table([
    [
      'is not judged by lists from before it had',
      withMachine(
        { state: 'exited' },
        { status: since('exited', -11), observed: { listsBegun: lists(-31, -21, -1) } },
      ),
      { rule: 'tolerate', phase: 'Lost', says: 'Exited', onList: true },
    ],
    [
      'is judged by the list of the very second in which it was first seen',
      withMachine(
        { state: 'exited' },
        { status: since('exited', -11), observed: { listsBegun: [at(-11) + 400, at(-1)] } },
      ),
      destroys('lost', 'Exited'),
    ],
  ]);
});

describe('a machine that flaps', () => {
  table([
    [
      'is written down when two lists showed it bad',
      withMachine(
        { state: 'unseen' },
        {
          memory: {
            badEndedAt: at(-30),
            seenStatus: { state: 'unseen', marketStatus: 'unknown', since: at(-11) },
          },
          observed: { listsBegun: lists(-11, -1) },
        },
      ),
      { rule: 'tolerate', phase: 'Lost', says: 'HostOffline', afterMs: 49000 },
    ],
    [
      'is not by lists from before',
      withMachine(
        { state: 'unseen' },
        {
          memory: {
            badEndedAt: at(-30),
            seenStatus: { state: 'unseen', marketStatus: 'unknown', since: at(-11) },
          },
          observed: { listsBegun: lists(-31, -21, -1) },
        },
      ),
      { rule: 'tolerate', afterMs: 49000, onList: true },
    ],
    [
      'is still one at the end of five minutes',
      withMachine(
        { state: 'unseen' },
        {
          memory: {
            badEndedAt: at(-300),
            seenStatus: { state: 'unseen', marketStatus: 'unknown', since: at(-1) },
          },
        },
      ),
      { rule: 'tolerate', afterMs: 59000, onList: true },
    ],
    [
      'is one no more after five minutes',
      withMachine(
        { state: 'unseen' },
        {
          memory: {
            badEndedAt: at(-301),
            seenStatus: { state: 'unseen', marketStatus: 'unknown', since: at(-1) },
          },
        },
      ),
      { rule: 'tolerate', phase: 'Lost', says: 'HostOffline', afterMs: 59000 },
    ],
  ]);
});

close();
