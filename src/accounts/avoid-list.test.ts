import { describe, expect, test } from 'vitest';
import { avoidSpanMs } from '../instance/avoidance.ts';
import {
  type AvoidEntry,
  avoidedAt,
  fairShare,
  mergeAvoided,
  remembered,
  withFailure,
} from './avoid-list.ts';

const HOUR = 3_600_000;
const machine = { type: 'machine', id: '7' } as const;

function failed(times: number, gapMs: number): readonly AvoidEntry[] {
  let entries: readonly AvoidEntry[] = [];
  for (let index = 0; index < times; index += 1) {
    entries = withFailure(entries, { target: machine, reason: 'Exited', now: index * gapMs });
  }
  return entries;
}

test.each([
  ['offer', 1, HOUR / 6],
  ['offer', 5, HOUR / 6],
  ['machine', 1, HOUR],
  ['machine', 2, 2 * HOUR],
  ['machine', 4, 8 * HOUR],
  ['machine', 9, 24 * HOUR],
  ['host', 1, 24 * HOUR],
  ['host', 2, 48 * HOUR],
  ['host', 30, 168 * HOUR],
] as const)('a %s that failed %d times is avoided for %d ms', (type, failures, span) => {
  expect(avoidSpanMs(type, failures)).toBe(span);
});

test('what failed is avoided until its time is over', () => {
  const entries = failed(1, 0);
  expect(avoidedAt(entries, HOUR - 1).machines).toEqual(new Set(['7']));
  expect(avoidedAt(entries, HOUR).machines).toEqual(new Set());
});

test('a repetition soon after doubles the time', () => {
  expect(failed(2, 1.5 * HOUR)).toEqual([
    { target: machine, failures: 2, reason: 'Exited', until: 1.5 * HOUR + 2 * HOUR },
  ]);
});

test('a repetition long after counts as the first', () => {
  expect(failed(2, 10 * HOUR)[0]).toMatchObject({ failures: 1 });
});

test('an entry is remembered for as long again as it was in force', () => {
  const entries = failed(1, 0);
  expect(remembered(entries, 2 * HOUR - 1)).toHaveLength(1);
  expect(remembered(entries, 2 * HOUR)).toHaveLength(0);
});

test('distinguishes offers, machines and hosts with the same id', () => {
  const targets = [{ type: 'offer', id: '7' } as const, machine, { type: 'host', id: '7' } as const];
  const entries = targets.reduce<readonly AvoidEntry[]>(
    (list, target) => withFailure(list, { target, reason: 'Exited', now: 0 }),
    [],
  );
  expect(avoidedAt(entries, 1)).toEqual({
    offers: new Set(['7']),
    machines: new Set(['7']),
    hosts: new Set(['7']),
  });
});

describe('merging what memory knows with what the status says', () => {
  const entry = (until: number): AvoidEntry => ({ target: machine, until, failures: 1, reason: 'Exited' });

  test('the longer time wins', () => {
    expect(mergeAvoided([entry(5)], [entry(9)])).toEqual([entry(9)]);
    expect(mergeAvoided([entry(9)], [entry(5)])).toEqual([entry(9)]);
  });

  test('what only one of them knows stays', () => {
    const host: AvoidEntry = { ...entry(3), target: { type: 'host', id: '1' } };
    expect(mergeAvoided([entry(5)], [host])).toEqual([entry(5), host]);
  });
});

test('the list never grows beyond what a status holds', () => {
  let entries: readonly AvoidEntry[] = [];
  for (let id = 0; id < 400; id += 1) {
    entries = withFailure(entries, {
      target: { type: 'machine', id: String(id) },
      reason: 'Exited',
      now: id,
    });
  }
  expect(entries).toHaveLength(256);
  expect(entries.some(({ target }) => target.id === '399')).toBe(true);
});

describe('a full list (H9)', () => {
  const machineOf = (id: string) => ({ type: 'machine', id }) as const;
  const idsOf = (entries: readonly AvoidEntry[]) => entries.map(({ target }) => target.id);

  test('keeps what one namespace says when another one says much', () => {
    let entries = withFailure([], {
      target: machineOf('1'),
      reason: 'CannotStart',
      now: 0,
      namespace: 'blue',
    });
    entries = withFailure(entries, { target: machineOf('2'), reason: 'CannotStart', now: 0 });
    for (let id = 1_000; id < 1_400; id += 1)
      entries = withFailure(entries, {
        target: machineOf(String(id)),
        reason: 'CannotStart',
        now: id,
        namespace: 'red',
      });
    expect(entries).toHaveLength(256);
    expect(idsOf(entries)).toEqual(expect.arrayContaining(['1', '2', '1399']));
    expect(idsOf(entries)).not.toContain('1000');
  });

  test('loses what a person or several namespaces say only when nothing else is left', () => {
    const entry = (id: string, namespace?: string): AvoidEntry => {
      return { target: machineOf(id), until: Number(id), failures: 1, reason: 'x', namespace };
    };
    const mixed = [entry('1'), entry('2'), entry('3', 'red'), entry('4', 'blue'), entry('5', 'blue')];
    expect(idsOf(fairShare(mixed, 4)).sort()).toEqual(['1', '2', '3', '5']);
    expect(idsOf(fairShare(mixed, 2))).toEqual(['2', '1']);
    expect(idsOf(fairShare([entry('1'), entry('2'), entry('3')], 2))).toEqual(['3', '2']);
  });
});

test('names no namespace when a second one reports the same failure (H9)', () => {
  const first = withFailure([], { target: machine, reason: 'CannotStart', now: 0, namespace: 'red' });
  expect(first).toMatchObject([{ namespace: 'red' }]);
  const again = withFailure(first, { target: machine, reason: 'CannotStart', now: 1, namespace: 'red' });
  expect(again).toMatchObject([{ namespace: 'red', failures: 2 }]);
  const agreed = withFailure(again, { target: machine, reason: 'CannotStart', now: 2, namespace: 'blue' });
  expect(agreed[0]).not.toHaveProperty('namespace');
});

test.each([
  ['stays in its order when it has as many entries as it may', 2, ['1', '2']],
  ['loses what ends first when it has one entry too many', 1, ['2']],
])('a list %s', (_, max, expected) => {
  const entries = ['1', '2'].map((id, index): AvoidEntry => {
    return { target: { type: 'machine', id }, until: index, failures: 1, reason: 'Exited' };
  });
  expect(fairShare(entries, max).map(({ target }) => target.id)).toEqual(expected);
});

test('merging keeps what the first list says when both name the same time', () => {
  const [known, written] = ['Exited', 'Requested'].map((reason): AvoidEntry => {
    return { target: machine, until: 5, failures: 1, reason };
  });
  expect(mergeAvoided(known ? [known] : [], written ? [written] : [])).toEqual([known]);
});

test('a failure without a reporter names no namespace', () => {
  const [entry] = withFailure([], { target: machine, reason: 'Exited', now: 0 });
  expect(entry).not.toHaveProperty('namespace');
});
