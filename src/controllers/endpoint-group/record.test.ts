import { expect, test } from 'vitest';
import { groupObject } from '../../../test/builders/group-worker.ts';
import { GROUP_FINALIZER } from '../../api/v1alpha1/names.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { KubeError, type KubeErrorKind } from '../../runtime/kube/kube-error.ts';
import { record } from './record.ts';

const group = groupObject({}, { metadata: { finalizers: [GROUP_FINALIZER] } });
const status = { observedGeneration: 1 };

/** A cluster that refuses the write of a status in this way. */
function refusing(kind: KubeErrorKind): KubeClient {
  const replace = () =>
    Promise.reject(new KubeError('refused', { kind, status: 409, reason: '', outcome: 'refused' }));
  // Nothing else of it is reached.
  return { replace } as unknown as KubeClient;
}

test.for(['conflict', 'notFound'] as const)('a decision that met %s is no ground to act on', async (kind) => {
  const decision = { needsFinalizer: true, status };
  const receipt = await record(group, decision, { client: refusing(kind), onWritten: () => {} });
  expect(receipt).toBeUndefined();
});

test('a decision that could not be written for another reason is an error', async () => {
  const decision = { needsFinalizer: true, status };
  const recorded = record(group, decision, { client: refusing('unavailable'), onWritten: () => {} });
  await expect(recorded).rejects.toThrow('refused');
});
