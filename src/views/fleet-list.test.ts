import { describe, expect, test } from 'vitest';
import type { FleetRow } from './fleet.ts';
import { type GroupBy, groupRows, labelNames, parseFilter, sortRows } from './fleet-list.ts';

function row(name: string, change: Partial<FleetRow> = {}): FleetRow {
  const kind = change.kind ?? 'gpui';
  const namespace = change.namespace ?? 'ml';
  return {
    ...{ kind, namespace, name, id: `${kind}/${namespace}/${name}` },
    state: { phase: 'Running', tone: 'good' },
    ...{ gpu: 'RTX 4090', perHour: 400_000, month: 1_000_000, bornAt: 1_000 },
    ...{
      endpoint: '203.0.113.7:40022',
      account: 'ml/default',
      group: undefined,
      labels: {},
      next: undefined,
    },
    ...change,
  };
}

const ROWS: readonly FleetRow[] = [
  row('trainer', { labels: { team: 'vision', 'gpurental.dev/instance': 'x' } }),
  row('chat', { kind: 'epg', namespace: 'web', group: 'chat', perHour: 900_000 }),
  row('lost', {
    state: { phase: 'Failed', tone: 'stuck' },
    ...{ gpu: 'A100 SXM4', perHour: undefined, month: 5_000_000, bornAt: 9_000, labels: { team: 'speech' } },
  }),
];
const names = (rows: readonly FleetRow[]) => rows.map(({ name }) => name);

describe('a filter', () => {
  test.each<[string, readonly string[]]>([
    ['', ['trainer', 'chat', 'lost']],
    ['state:running', ['trainer', 'chat']],
    ['state:stuck', ['lost']],
    ['ns:web', ['chat']],
    ['gpu:4090 kind:instance', ['trainer']],
    ['kind:groups', ['chat']],
    ['label:team=vision', ['trainer']],
    ['-state:running', ['lost']],
    ['A100', ['lost']],
    ['trainer 4090', ['trainer']],
    ['trainer a100', []],
    ['203.0.113.7:40022 -lost -chat', ['trainer']],
    ['state:', ['trainer', 'chat', 'lost']],
    ['constructor:x', []],
  ])('"%s" shows %j', (text, expected) => {
    expect(names(ROWS.filter(parseFilter(text)))).toEqual(expected);
  });
});

describe('an order', () => {
  test('puts rows without a value last in both directions', () => {
    expect(names(sortRows(ROWS, { by: 'perHour', descending: false }))).toEqual(['trainer', 'chat', 'lost']);
    expect(names(sortRows(ROWS, { by: 'perHour', descending: true }))).toEqual(['chat', 'trainer', 'lost']);
  });

  test('puts states that need a person first', () => {
    expect(names(sortRows(ROWS, { by: 'state', descending: false }))[0]).toBe('lost');
  });

  test('puts the youngest object first by age', () => {
    expect(names(sortRows(ROWS, { by: 'age', descending: false }))[0]).toBe('lost');
  });
});

describe('groups', () => {
  test.each<[GroupBy, readonly string[]]>([
    ['none', ['']],
    ['namespace', ['ml', 'web']],
    ['gpu', ['A100 SXM4', 'RTX 4090']],
    ['label:team', ['speech', 'vision', '']],
  ])('by %s are %j', (by, expected) => {
    expect(groupRows(ROWS, by).map(({ key }) => key)).toEqual(expected);
  });

  test('sum the money of GpuInstances once, although their group shows it too', () => {
    const [all] = groupRows(ROWS, 'none');
    expect(all?.totals).toEqual({ instances: 2, perHour: 400_000, month: 6_000_000, stuck: 1 });
  });

  test('offer labels of people, not those of the operator', () => {
    expect(labelNames(ROWS)).toEqual(['team']);
  });
});
