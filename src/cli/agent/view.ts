import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { facetsOf } from '../../api/v1alpha1/reasons.ts';
import { totalCost } from '../../instance/cost.ts';
import { omitUndefined } from '../../lib/json.ts';
import { formatDollars } from '../../lib/money.ts';
import { openPortsText } from '../../reach/machine-addresses.ts';
import type { Answer, NextAction } from './contract.ts';
import { hasEnded, isPending } from './room.ts';
import { logEnd, messageText } from './text.ts';

type Status = NonNullable<GpuInstance['status']>;

/** Seconds for which a suggested `status` waits for a change. */
const WAIT_S = 30;

/** An object as the server shows it. */
export interface ObjectView {
  readonly name: string;
  readonly phase: string;
  readonly reason: string;
  readonly ended: boolean;
  readonly machine?: string;
  readonly gpu?: string;
  readonly perHour?: string;
  readonly spent: string;
  readonly maxCost?: string;
  readonly maxLifetime?: string;
  readonly since?: string;
  readonly ports?: string;
  readonly ssh?: string;
  /** Result of a job. */
  readonly run?: {
    readonly exitCode?: number;
    readonly attempts?: number;
    readonly lost?: number;
    readonly finishedAt?: string;
    /** Last lines of its log: data. */
    readonly message?: string;
  };
}

const readyOf = ({ status }: GpuInstance) => status?.conditions?.find(({ type }) => type === 'Ready');

/** Returns the reason of the Ready condition for the present spec; Unseen until the operator has reconciled it. */
export function reasonOf(object: GpuInstance): string {
  const { metadata, status } = object;
  if (status?.observedGeneration !== metadata.generation) return 'Unseen';
  return readyOf(object)?.reason ?? 'Unseen';
}

/** Returns an object in short, at `now` (epoch milliseconds). */
export function viewOf(object: GpuInstance, now: number): ObjectView {
  const { metadata, spec, status } = object;
  const { instanceId, gpu, cost, rentedAt, ssh } = status ?? {};
  const ports = openPortsText(status ?? {});
  return {
    name: metadata.name,
    phase: status?.phase ?? 'Unseen',
    reason: reasonOf(object),
    ended: hasEnded(object),
    ...omitUndefined({
      machine: instanceId,
      gpu: gpu && messageText(`${gpu.count} × ${gpu.name}`),
      perHour: instanceId === undefined ? undefined : cost?.pricePerHour,
      maxCost: spec.maxTotalCost,
      maxLifetime: spec.maxLifetime,
      since: instanceId === undefined ? undefined : rentedAt,
      ports: ports === '' ? undefined : messageText(ports),
      ssh: ssh && messageText(`ssh -p ${ssh.port} root@${ssh.host}`),
    }),
    ...(status?.run && { run: runView(status.run) }),
    spent: formatDollars(totalCost(cost, now)),
  };
}

function runView({ exitCode, attempts, lost, finishedAt, message }: NonNullable<Status['run']>) {
  const lines = message === undefined ? undefined : logEnd(message).text;
  return omitUndefined({ exitCode, attempts, lost, finishedAt, message: lines });
}

/** Returns the state of an object as a result, at `now` (epoch milliseconds). */
export function stateAnswer(object: GpuInstance, now: number): Answer {
  const { name } = object.metadata;
  const view = viewOf(object, now);
  const message = isPending(object)
    ? 'The limits of the server are being counted. Repeat the call that created it, with the same arguments.'
    : view.reason === 'Unseen'
      ? 'The operator has not seen this state of the object yet.'
      : (readyOf(object)?.message ?? '');
  return {
    ok: true,
    reason: view.reason,
    message: messageText(`gpui/${name} is ${view.phase}. ${message}`),
    nextAction: nextFor(object, view),
    data: view,
  };
}

function nextFor(object: GpuInstance, { name, ended, reason, machine }: ObjectView): NextAction {
  if (isPending(object)) return null;
  if (ended) return { tool: 'cost', arguments: {} };
  if (readyOf(object)?.status === 'True' && reason !== 'Unseen') return { tool: 'logs', arguments: { name } };
  // Without a person it stays as it is; stop ends a machine that bills meanwhile.
  const isStalled = object.status?.conditions?.some(
    ({ type, status }) => type === 'Stalled' && status === 'True',
  );
  if (isStalled && facetsOf(reason).endsForGood !== true && machine !== undefined)
    return { tool: 'stop', arguments: { name } };
  return { tool: 'status', arguments: { name, waitSeconds: WAIT_S } };
}
