import { expect, test } from 'vitest';
import { describeFailure } from '../failures/describe-failure.ts';
import { readGroup } from './group-file.ts';

/** Returns the refusal of one line of YAML for the field `under`, beside a valid template. */
function refusal(under: string, more = ''): string {
  const lines = [
    'apiVersion: gpurental.dev/v1alpha1',
    'kind: EndpointGroup',
    'spec:',
    `  template: {spec: {image: x, offers: [{maxPricePerHour: "0.40"}]${more}}}`,
    `  ${under}`,
  ];
  try {
    readGroup(lines.join('\n'), 'group.yaml');
    return '';
  } catch (error) {
    return describeFailure(error).lines[0] ?? '';
  }
}

test.each([
  ['load: {type: Static, httpPull: {}}', 'spec.load.httpPull: httpPull belongs to type: HTTPPull'],
  ['load: {static: {}}', 'spec.load.static: static belongs to type: Static'],
  [
    'load: {type: Push, prometheus: {loadQuery: up}}',
    'spec.load.prometheus: prometheus belongs to type: Prometheus',
  ],
  ['load: {type: Prometheus}', 'spec.load.prometheus: type: Prometheus needs prometheus.loadQuery'],
  [
    'load: {httpPull: {preset: Custom, path: /x, format: JSON}}',
    'spec.load.httpPull: preset: Custom needs path, format and figures',
  ],
  ['load: {httpPull: {timeout: 99ms}}', 'spec.load.httpPull.timeout: write at least 100ms'],
  ['load: {httpPull: {timeout: 11s}}', 'spec.load.httpPull.timeout: write at most 10s'],
  ['updateStrategy: {maxUnavailable: 101%}', 'spec.updateStrategy.maxUnavailable: write a count'],
  ['maxQueueTime: 25h', 'spec.maxQueueTime: write at most 24h'],
  ['drainTimeout: 0s', 'spec.drainTimeout: write at least 1s'],
  ['wakeTimeout: 61m', 'spec.wakeTimeout: write at most 1h'],
  ['inactivityTimeout: 10ms', 'spec.inactivityTimeout: write at least 1s'],
  ['updateStrategy: {maxUnavailable: -1}', 'spec.updateStrategy.maxUnavailable: write a count'],
])('refuses a group as the API server does when it has %s', (under, says) => {
  expect(refusal(under)).toContain(`group.yaml:5: ${says}`);
});

test.each([
  [', powerState: Stopped', 'powerState: leave powerState out: the group decides which workers run'],
  [', deletionPolicy: Retain', 'deletionPolicy: leave deletionPolicy out: a group destroys'],
  [', adopt: {instanceId: "7"}', 'adopt: leave adopt out: the machines of a group are its own rentals'],
])('refuses a group as the API server does when its template has%s', (more, says) => {
  expect(refusal('maxWorkers: 5', more)).toContain(`group.yaml:4: spec.template.spec.${says}`);
});

test.each([
  'load: {type: Static, static: {load: "9"}}',
  'load: {type: Prometheus, prometheus: {loadQuery: up}}',
  'load: {httpPull: {preset: Custom, path: /x, format: JSON, figures: {newLoad: a}, timeout: 100ms}}',
  'load: {httpPull: {timeout: 10s}}',
  'updateStrategy: {maxUnavailable: 100%}',
  'updateStrategy: {maxUnavailable: 0}',
])('accepts a group when it has %s', (under) => {
  expect(refusal(under)).toBe('');
});
