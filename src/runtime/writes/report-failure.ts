import type { Clock } from '../../lib/clock.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { isKubeError } from '../kube/kube-error.ts';
import { type Condition, type KubeObject, type Resource, refOfKey } from '../kube/kube-object.ts';
import { setConditions } from './conditions.ts';
import { recordStatus, type WithStatus } from './record-status.ts';
import { timestampOf } from './timestamp.ts';

/** The reason of the condition. */
export const RECONCILE_ERROR = 'ReconcileError';

interface Conditioned {
  readonly conditions?: readonly Condition[] | undefined;
}

/** Whether an error is one that the same object will meet again: a fault of ours, or a write that is never accepted. */
export function isLastingFailure(error: unknown): boolean {
  if (isKubeError(error)) return error.kind === 'invalid';
  return !(error instanceof Error && (error.name === 'DeadlineError' || error.name === 'AbortError'));
}

/**
 * Says on the object that its reconcile fails: condition `Reconciling` with reason `ReconcileError`. Names the class
 * of the error and not its text, which may hold a secret. Rejects with a KubeError if the status cannot be written.
 */
export async function reportFailure(
  key: string,
  error: unknown,
  options: {
    readonly client: Pick<KubeClient, 'get' | 'replace'>;
    readonly resource: Resource;
    readonly clock: Clock;
  },
): Promise<void> {
  const { client, resource, clock } = options;
  const object = await client.get<KubeObject & WithStatus<Conditioned>>(resource, refOfKey(key));
  if (!object) return;
  const conditions = setConditions({
    previous: object.status?.conditions,
    wanted: [
      { type: 'Reconciling', status: 'True', reason: RECONCILE_ERROR, message: messageOf(error, resource) },
    ],
    generation: object.metadata.generation,
    now: timestampOf(clock.now()),
  });
  const status: Conditioned = { ...object.status, conditions };
  await recordStatus<Conditioned, typeof object>({ client, resource, object, status });
}

function messageOf(error: unknown, { kind }: Resource): string {
  const what = isKubeError(error)
    ? `the API server refuses a write (HTTP ${error.status})`
    : `internal error (${error instanceof Error ? error.name : typeof error})`;
  return `Reconcile of this ${kind} failed: ${what}. Retrying with backoff; the operator's log has the error.`;
}
