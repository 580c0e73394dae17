import { endpointGroupSpec } from '../../src/api/v1alpha1/endpoint-group-spec.ts';

import type { Outcome } from '../../src/views/replay.ts';
import { replay } from '../../test/builders/whole-replay.ts';
import { dayOf, marketOf } from './day.ts';
import type { Contender } from './policies.ts';

/**
 * Returns the group of a contender: defaults of an EndpointGroup, and the expected performance and maximum price of
 * workers.
 */
function specOf({ group }: Contender) {
  return endpointGroupSpec.parse({
    expectedPerf: '100',
    ...group,
    template: { spec: { image: 'example/worker:1', offers: [{ maxPricePerHour: '0.40' }] } },
  });
}

/** Workers at midnight: what the load of that hour needs, and some stopped ones. */
const FIRST = { hot: 2, cold: 3 };

/**
 * Replays one day of a seed under a contender's rules; all contenders get the same load and the same workers in
 * order.
 */
export function dayUnder(contender: Contender, seed: number): Outcome {
  const { first, models } = marketOf(seed, FIRST);
  return replay({ spec: specOf(contender), trace: dayOf(seed), models, first, policy: contender.policy });
}

/** Row of the comparison. */
export interface Row {
  readonly name: string;
  readonly settings: string;
  readonly rejectedPercent: number;
  readonly meanQueueSeconds: number;
  readonly dollars: number;
}

export function rowOf(contender: Contender, { summary }: Outcome): Row {
  const { rejectedPercent, meanQueueSeconds, dollars } = summary;
  const { name, settings } = contender;
  return { name, settings, rejectedPercent, meanQueueSeconds, dollars };
}

/** Returns the rows as a Markdown table. */
export function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(
    ({ name, settings, rejectedPercent, meanQueueSeconds, dollars }) =>
      `| ${name} | ${settings} | ${rejectedPercent.toFixed(2)} % | ${meanQueueSeconds.toFixed(2)} s | $${dollars.toFixed(2)} |`,
  );
  return [
    '| policy | settings | work rejected | mean queue | dollars |',
    '|---|---|---:|---:|---:|',
    ...lines,
    '',
  ].join('\n');
}
