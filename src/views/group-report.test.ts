import { expect, test } from 'vitest';
import { groupObject, workerObject } from '../../test/builders/group-worker.ts';
import { labels } from '../api/v1alpha1/names.ts';
import { groupFigures } from './group-figures.ts';
import { groupReport } from './group-report.ts';
import { groupText } from './group-text.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const terms = { longLoad: '30', rateCapacity: '9', queueCapacity: '1', hotCapacity: '9', totalCapacity: '9' };

test('the report of a group words its workers, gateway, load and cost as top does', () => {
  const { status, ...body } = groupObject();
  const group = {
    ...body,
    status: {
      ...{ observedGeneration: 1, conditions: [], ...status },
      ...{ ready: 1, replicas: 2, cold: 1, starting: 1, draining: 0, total: 3 },
      ...{ pricePerHour: '1.25', load: '12.34', utilizationPercent: 51 },
      gateway: {
        url: 'https://gateway.example/team/llm',
        pickers: 2,
        heldRequests: 7,
        reportedAt: '2026-11-20T11:50:00Z',
      },
      autoscaling: {
        ...{ at: '2026-11-20T11:55:00Z', load: '12.34', burstLoad: '20', queue: '7', capacity: '24' },
        ...{
          ...terms,
          hotNeed: 2,
          totalNeed: 4,
          hot: 2,
          total: 4,
          rule: 'Load' as const,
          explanation: 'Why.',
        },
      },
    },
  };
  const worker = workerObject('llm-a', { metadata: { labels: { [labels.endpointGroup]: 'llm' } } });
  const report = groupReport(group, { workers: [worker], events: [] }, NOW);
  const text = groupText(groupFigures(group, [worker], NOW), { now: NOW, namespaces: false, wide: true });
  const shown = ['Workers', 'Gateway', 'Load', 'Cost'].map((label) => [
    label,
    new RegExp(`^${label}: +(.*)$`, 'm').exec(text)?.[1],
  ]);
  expect(report.facts.filter(([label]) => shown.some(([other]) => other === label))).toEqual(shown);
  expect(Object.fromEntries(report.facts)).toMatchObject({
    Load: '12.3 units/s (20 over 10 s); 24 can be done (51 % used); 7 wait, for about 0s (written 5m ago)',
    Decision: 'Why.',
  });
  const [table] = report.tables;
  const headings = /^WORKER .*$/m.exec(text)?.[0];
  expect(table?.headers.map((header) => header.toUpperCase())).toEqual(headings?.split(/ {3,}/));
  expect(table?.rows).toHaveLength(1);
});
