import { expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { statusForms } from '../api/v1alpha1/status-codec.ts';
import { silentLogger } from '../lib/logger.ts';
import { KubeError } from '../runtime/kube/kube-error.ts';
import { requireRecordField } from './definitions-check.ts';

const documentOf = (status: object, kind = 'GpuInstance') => ({
  components: { schemas: { [`dev.gpurental.v1alpha1.${kind}`]: { properties: { status } } } },
});
const OLD = documentOf({ properties: { instanceId: {} } });
const NEW = documentOf({ properties: { record: {} } });

/** Checks against these answers; the last one repeats. */
async function check(...answers: readonly (object | KubeError)[]) {
  const clock = createVirtualClock({ startMs: 0 });
  let reads = 0;
  const read = async () => {
    const answer = answers[Math.min(reads, answers.length - 1)];
    reads += 1;
    if (answer instanceof KubeError) throw answer;
    return answer;
  };
  const checked = requireRecordField({ read, clock, log: silentLogger }).then(
    () => 'accepted',
    (error: unknown) => String(error),
  );
  await clock.advance(60_000);
  return { said: await checked, reads };
}

test('accepts CRDs that keep the record', async () => {
  expect(await check(NEW)).toEqual({ said: 'accepted', reads: 1 });
});

test.each(Object.keys(statusForms))(
  'refuses a CRD of %s without status.record and names the command',
  async (kind) => {
    const { said } = await check(documentOf({ properties: { conditions: {} } }, kind));
    expect(said).toContain(`The CRD of ${kind} is older than this operator: it has no status.record.`);
    expect(said).toContain('kubectl apply --server-side -f crds/');
  },
);

test('waits while the API server still publishes the former CRD', async () => {
  expect(await check(OLD, OLD, NEW)).toEqual({ said: 'accepted', reads: 3 });
});

test('leaves a kind that is not served to the caches', async () => {
  expect((await check({ components: { schemas: {} } })).said).toBe('accepted');
});

const failure = (kind: 'forbidden' | 'unavailable') =>
  new KubeError('no', { kind, status: 0, reason: 'No', outcome: 'refused' });

test('starts if the API server shows no schemas to it', async () => {
  expect((await check(failure('forbidden'))).said).toBe('accepted');
});

test('does not start if the API server does not answer', async () => {
  expect((await check(failure('unavailable'))).said).toContain('no');
});
