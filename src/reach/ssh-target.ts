import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import type { SocketAddress } from './machine-addresses.ts';
import { ReachError } from './reach-error.ts';

/** A machine that answers SSH. */
export interface SshTarget extends SocketAddress {
  /** Name for people: `gpui/trainer`, or the id of the machine. */
  readonly shown: string;
  /**
   * Name of its host key; it differs for each machine, so that a replacement is not checked against an old key.
   */
  readonly keyName: string;
  /** The id of the machine at the marketplace. */
  readonly instanceId: string | undefined;
}

/**
 * Returns the SSH target of an object's machine. Throws a `ReachError` with a remedy if the machine does not answer
 * now.
 */
export function targetOfObject(object: GpuInstance): SshTarget {
  const { status, metadata } = object;
  const { instanceId, ssh } = status ?? {};
  if (status?.phase === 'Stopped' || ssh === undefined) throw unreachable(object);
  return {
    ...ssh,
    shown: `gpui/${metadata.name}`,
    keyName: `${metadata.namespace}-${metadata.name}-${instanceId}`,
    instanceId,
  };
}

/** A machine as its market lists it. */
export interface ListedMachine {
  readonly id: string;
  readonly sshHost?: string | undefined;
  readonly sshPort?: number | undefined;
  /** Status word of the market. */
  readonly stateText?: string | undefined;
  readonly isAtRest: boolean;
}

/**
 * Returns the SSH target of a listed machine. Throws a `ReachError` with a remedy if the machine does not answer now.
 */
export function targetOfMachine({ id, sshHost, sshPort, stateText, isAtRest }: ListedMachine): SshTarget {
  // The marketplace still names the former address of a stopped machine.
  if (isAtRest)
    throw new ReachError(
      'failed',
      `Instance ${id} is ${stateText}, and nothing answers there.`,
      `Start it: gpu-rent start instance ${id}`,
    );
  if (sshHost !== undefined && sshPort !== undefined)
    return { host: sshHost, port: sshPort, shown: id, keyName: `instance-${id}`, instanceId: id };
  throw new ReachError(
    'failed',
    `Instance ${id} has no SSH address yet (${stateText ?? 'provisioning'}).`,
    `Look again in a while: gpu-rent show instance ${id}`,
  );
}

/**
 * Returns the target if ssh can only read its host as a host. Throws a `ReachError` for any other text, since the
 * marketplace chooses it.
 */
export function safeTarget(target: SshTarget): SshTarget {
  if (/^[A-Za-z0-9][A-Za-z0-9.:-]*$/.test(target.host)) return target;
  throw new ReachError('failed', `"${target.host}" is not a host that ssh may be given.`);
}

/**
 * Returns the failure that explains a lost connection by the object's present state; undefined if the machine is the
 * same.
 */
export function changeOfTarget(
  { shown, instanceId }: SshTarget,
  object: GpuInstance,
): ReachError | undefined {
  const present = object.status?.instanceId;
  if (present !== undefined && present !== instanceId)
    return new ReachError(
      'failed',
      `${shown} runs on machine ${present} now; machine ${instanceId} was replaced.`,
      'Repeat the command: it reaches the present machine. What was on the old disk is lost.',
    );
  const isReached = object.status?.phase !== 'Stopped' && object.status?.ssh !== undefined;
  return isReached ? undefined : unreachable(object);
}

function unreachable(object: GpuInstance): ReachError {
  const { instanceId, phase = 'not yet seen' } = object.status ?? {};
  const machine = phase === 'Stopped' ? 'is stopped, and nothing answers there' : 'has no SSH address yet';
  const what = instanceId === undefined ? 'has no machine' : machine;
  return new ReachError('failed', `gpui/${object.metadata.name} ${what} (${phase}).`, stepToRun(object));
}

/** Returns the command after which the object runs a machine. */
function stepToRun({ metadata: { name, namespace }, spec, status }: GpuInstance): string {
  const wait = `gpu-rent wait gpui/${name} -n ${namespace}`;
  if (spec.powerState === 'Stopped')
    return `Start it: gpu-rent start gpui/${name} -n ${namespace}; then ${wait}`;
  if (spec.paused) return `Paused: gpu-rent resume gpui/${name} -n ${namespace}; then ${wait}`;
  const isWithoutSsh = spec.ssh === false && status?.ssh === undefined;
  return isWithoutSsh ? `Set spec.ssh: true; then wait for it: ${wait}` : `Wait for it: ${wait}`;
}
