import { describe } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import { at, held, time } from '../../../../test/builders/observed.ts';

const { table, close } = decisionTables('failing');

const tolerance = { replacement: { tolerance: { unknown: '90s', offline: '30s' } } };
const since = (actualStatus: string, seconds: number) => ({ actualStatus, actualStatusSince: time(seconds) });
const lists = (...seconds: number[]): readonly number[] => seconds.map((second) => at(second));

describe('the tolerance of a host', () => {
  table([
    [
      'that is offline is its own',
      held({ actualStatus: 'offline' }, { spec: tolerance, status: since('offline', -30) }),
      {
        rule: 'lost',
        record: 'status',
        actions: ['destroy 1 (HostOffline)'],
        phase: 'Replacing',
        says: 'HostOffline, Replacing',
        afterMs: 1000,
      },
    ],
    [
      'that is offline has not run out before',
      held({ actualStatus: 'offline' }, { spec: tolerance, status: since('offline', -20) }),
      { rule: 'tolerate', phase: 'Lost', says: 'HostOffline', afterMs: 10000 },
    ],
    [
      'that is silent is its own',
      held({ actualStatus: 'unknown' }, { spec: tolerance, status: since('unknown', -60) }),
      { rule: 'tolerate', phase: 'Lost', says: 'HostSilent', afterMs: 30000 },
    ],
    [
      'that is silent runs out',
      held({ actualStatus: 'unknown' }, { spec: tolerance, status: since('unknown', -90) }),
      {
        rule: 'lost',
        record: 'status',
        actions: ['destroy 1 (HostSilent)'],
        phase: 'Replacing',
        says: 'HostSilent, Replacing',
        afterMs: 1000,
      },
    ],
  ]);
});

describe('a host that a single list shows to be away, where minutes lie between two lists', () => {
  const shown = { listsBegun: lists(-600, -90) };
  table([
    [
      'is looked at again by the next one before its machine is lost',
      held({ actualStatus: 'offline' }, { status: since('offline', -90), observed: shown }),
      { rule: 'tolerate', phase: 'Lost', says: 'HostOffline', onList: true },
    ],
    [
      'is not waited for where nothing is tolerated',
      held(
        { actualStatus: 'offline' },
        {
          spec: { replacement: { tolerance: { offline: '0s' } } },
          status: since('offline', -90),
          observed: shown,
        },
      ),
      {
        rule: 'lost',
        record: 'status',
        actions: ['destroy 1 (HostOffline)'],
        phase: 'Replacing',
        says: 'HostOffline, Replacing',
        afterMs: 1000,
      },
    ],
  ]);
});

describe('a machine that has ended', () => {
  table([
    [
      'is not judged by lists from before it had',
      held(
        { actualStatus: 'exited' },
        { status: since('exited', -11), observed: { listsBegun: lists(-31, -21, -1) } },
      ),
      { rule: 'tolerate', phase: 'Lost', says: 'Exited', onList: true },
    ],
    [
      'is judged by the list of the very second in which it was first seen',
      held(
        { actualStatus: 'exited' },
        { status: since('exited', -11), observed: { listsBegun: [at(-11) + 400, at(-1)] } },
      ),
      {
        rule: 'lost',
        record: 'status',
        actions: ['destroy 1 (Exited)'],
        phase: 'Replacing',
        says: 'Exited, Replacing',
        afterMs: 1000,
      },
    ],
  ]);
});

describe('a machine that flaps', () => {
  table([
    [
      'is written down when two lists showed it bad',
      held(
        { actualStatus: 'unknown' },
        {
          memory: { badEndedAt: at(-30), seenWord: { word: 'unknown', since: at(-11) } },
          observed: { listsBegun: lists(-11, -1) },
        },
      ),
      { rule: 'tolerate', phase: 'Lost', says: 'HostSilent', afterMs: 49000 },
    ],
    [
      'is not by lists from before',
      held(
        { actualStatus: 'unknown' },
        {
          memory: { badEndedAt: at(-30), seenWord: { word: 'unknown', since: at(-11) } },
          observed: { listsBegun: lists(-31, -21, -1) },
        },
      ),
      { rule: 'tolerate', afterMs: 49000, onList: true },
    ],
    [
      'is still one at the end of five minutes',
      held(
        { actualStatus: 'unknown' },
        { memory: { badEndedAt: at(-300), seenWord: { word: 'unknown', since: at(-1) } } },
      ),
      { rule: 'tolerate', afterMs: 59000, onList: true },
    ],
    [
      'is one no more after five minutes',
      held(
        { actualStatus: 'unknown' },
        { memory: { badEndedAt: at(-301), seenWord: { word: 'unknown', since: at(-1) } } },
      ),
      { rule: 'tolerate', phase: 'Lost', says: 'HostSilent', afterMs: 59000 },
    ],
  ]);
});

close();
