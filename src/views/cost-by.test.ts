import { describe, expect, test } from 'vitest';
import { entry } from '../../test/builders/ledger.ts';
import { codeBlocks } from '../../test/docs/code-blocks.ts';
import { chargesSince } from '../ledger/cost-sums.ts';
import { emptyMonth, type Ledger } from '../ledger/ledger.ts';
import { costByRows, costBySchema, costByTotal, costByViewOf } from './cost-by.ts';
import { exportText } from './cost-export.ts';
import { formatTable } from './table.ts';

const NOW = Date.UTC(2026, 10, 20, 12);
const at = (day: number, hour = 0) => Date.UTC(2026, 10, day, hour);

const ENTRIES = [
  entry({
    machine: '20000001',
    cost: 9_123_456,
    group: 'chat',
    labels: { team: 'search' },
    start: at(1),
    end: at(3),
  }),
  entry({
    machine: '20000002',
    uid: 'b',
    cost: 2_000_000,
    name: 'train',
    gpu: 'H100',
    gpus: 2,
    start: at(5),
    end: at(5, 4),
  }),
  entry({
    machine: '20000003',
    uid: 'c',
    cost: 500_000,
    namespace: 'team-b',
    name: '=cmd',
    gpu: '',
    isEstimated: true,
  }),
];
const ledger: Ledger = new Map([['2026-11', { ...emptyMonth('2026-11'), entries: ENTRIES }]]);
const charges = chargesSince({ ledger, instances: [], now: NOW, namespace: undefined }, at(1));

describe('costs by team', () => {
  test('are sums by namespace, the highest first, with a total', () => {
    const rows = costByRows(charges, 'namespace');
    expect(costBySchema.parse(rows)).toEqual(rows);
    const table = formatTable(costByViewOf('namespace').columns, [
      ...rows,
      costByTotal(charges, 'namespace'),
    ]);
    expect(table).toBe(
      [
        'NAMESPACE   COST     OPEN    GPU HOURS   MACHINES   RUNNING',
        'team-a      $11.12   $0.00   56.0        2          0',
        'team-b      $0.50    $0.00   2.0         1          0',
        'total       $11.62   $0.00   58.0        3          0',
        '',
      ].join('\n'),
    );
    const shown = codeBlocks('docs/how-to/cost-per-team.md').filter(({ language }) => language === 'text');
    expect(shown.map(({ text }) => text)).toEqual([table]);
  });

  test.each([
    ['group', ['chat', '']],
    ['gpu', ['RTX 4090', 'H100', '']],
    ['account', ['team-a/main']],
    [{ label: 'team' }, ['search', '']],
  ] as const)('by %j have a row for each value, and one for what has none', (criterion, keys) => {
    expect(costByRows(charges, criterion).map(({ key }) => key)).toEqual(keys);
  });
});

describe('the export of a month', () => {
  const input = { month: '2026-11', charges, provider: 'Vast.ai' };

  test('as CSV has a line for each machine, and no formula', () => {
    expect(exportText('csv', input).split('\r\n')).toEqual([
      'account,namespace,name,group,gpu,gpus,labels,machine,machines,start,end,gpuHours,dollars,reason,estimated,final',
      'team-a/main,team-a,trainer,chat,RTX 4090,1,team=search,20000001,1,2026-11-01T00:00:00Z,2026-11-03T00:00:00Z,48,9.123456,Deleting,false,true',
      'team-a/main,team-a,train,,H100,2,,20000002,1,2026-11-05T00:00:00Z,2026-11-05T04:00:00Z,8,2.00,Deleting,false,true',
      "team-a/main,team-b,'=cmd,,,1,,20000003,1,2026-11-03T10:00:00Z,2026-11-03T12:00:00Z,2,0.50,Deleting,true,true",
      '',
    ]);
  });

  test('with columns named after FOCUS bills the namespace as a sub-account, and quotes its tags', () => {
    const [header = '', first = ''] = exportText('focus', input).split('\r\n');
    expect(header.split(',')).toEqual(
      expect.arrayContaining(['BilledCost', 'ChargePeriodStart', 'SubAccountId', 'Tags']),
    );
    expect(first).toContain('"{""team"":""search"",""namespace"":""team-a"",""endpointGroup"":""chat""}"');
    const fieldOf = (name: string) => first.split(',')[header.split(',').indexOf(name)];
    expect(fieldOf('BilledCost')).toBe('9.123456');
    expect(fieldOf('ConsumedQuantity')).toBe('48.0');
    expect(fieldOf('ResourceId')).toBe('Vast.ai/20000001');
  });
});
