import { describe, expect, test } from 'vitest';
import { groupObject, workerObject } from '../../../test/builders/group-worker.ts';
import { annotations, GROUP } from '../../api/v1alpha1/names.ts';
import { fleetRows } from '../../views/fleet.ts';
import { instanceReport } from '../../views/instance-report.ts';
import type { FeedObject } from '../protocol.ts';
import { manifestOf, reducedObject } from './reduced-object.ts';

const CANARY = 'canary-7f31';
const NOW = Date.parse('2026-11-20T12:00:00Z');

const secretive = {
  env: [
    { name: 'TOKEN', value: CANARY },
    { name: 'FROM', valueFrom: { secretKeyRef: { name: 'hf', key: 'token' } } },
  ],
  onStart: `login ${CANARY}`,
  args: ['--token', CANARY],
  command: ['sh', '-c', CANARY],
  readinessProbe: {
    httpGet: { port: 8000, httpHeaders: [{ name: 'Authorization', value: `Bearer ${CANARY}` }] },
  },
};

/** Annotations of other tools: copies of whole manifests, and texts that may be one. */
const copies = {
  'example.com/json': JSON.stringify({ spec: { env: [{ name: 'TOKEN', value: CANARY }] } }),
  'example.com/list': JSON.stringify([{ value: CANARY }]),
  'example.com/yaml': `spec:\n  env:\n  - {name: TOKEN, value: ${CANARY}}\n`,
  'example.com/documents': `a: 1\n---\nvalue: ${CANARY}\n`,
  'example.com/broken': `{"value": "${CANARY}`,
  'example.com/long': `${'é'.repeat(123)}${CANARY}`,
  [`${GROUP}/foreign`]: JSON.stringify({ value: CANARY }),
};

/** Returns an object with secrets wherever a tenant or the operator may have one. */
function machine(): FeedObject {
  const object = workerObject('trainer', {
    spec: secretive,
    annotations: {
      'kubectl.kubernetes.io/last-applied-configuration': CANARY,
      [annotations.rentalIntent]: CANARY,
      'example.com/note': 'ask the vision team',
      [annotations.hold]: 'benchmark: until Friday',
      ...copies,
    },
  });
  const metadata = { ...object.metadata, managedFields: [{ manager: CANARY }] };
  return {
    ...object,
    metadata,
    status: { ...object.status, sealedKey: CANARY, claim: CANARY },
  } as FeedObject;
}

const group = () =>
  groupObject({
    template: {
      metadata: { annotations: copies },
      spec: { ...secretive, image: 'i', offers: [{ maxPricePerHour: '1' }] },
    },
  });

describe('an object of the stream', () => {
  test('has no secret of container, annotations and record', () => {
    for (const object of [machine(), group()])
      expect(JSON.stringify(reducedObject(object))).not.toContain(CANARY);
  });

  test('gives the same row and report as the whole object', () => {
    const whole = workerObject('trainer', { spec: { maxLifetime: '2h' } });
    const reduced = JSON.parse(JSON.stringify(reducedObject(whole))) as typeof whole;
    const rowsOf = (instance: typeof whole) =>
      fleetRows({ instances: [instance], groups: [], accounts: [] }, { now: NOW, isWhole: true });
    expect(rowsOf(reduced)).toEqual(rowsOf(whole));
    expect(instanceReport(reduced, [], NOW)).toEqual(instanceReport(whole, [], NOW));
  });
});

describe('a manifest', () => {
  test('shows names of variables, and no value that the container gets', () => {
    const text = JSON.stringify(manifestOf(machine()));
    expect(text).not.toContain(CANARY);
    expect(text).toContain('TOKEN');
    expect(text).toContain('secretKeyRef');
    expect(JSON.stringify(manifestOf(group()))).not.toContain(CANARY);
  });

  test('shows short annotations of people, and names of probe headers and hidden annotations', () => {
    const { metadata, spec } = manifestOf(machine()) as { metadata: unknown; spec: unknown };
    expect(metadata).toMatchObject({
      annotations: {
        'example.com/note': 'ask the vision team',
        [annotations.hold]: 'benchmark: until Friday',
        'example.com/json': '(not shown)',
      },
    });
    expect(spec).toMatchObject({
      readinessProbe: {
        httpGet: { port: 8000, httpHeaders: [{ name: 'Authorization', value: '(not shown)' }] },
      },
    });
  });

  test('is empty for a value that is no object', () => {
    expect(manifestOf('text')).toEqual({});
  });
});
