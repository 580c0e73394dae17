import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { billedPerHour, totalCost } from '../../instance/cost.ts';
import { cancelTime, maxLifetimeOf } from '../../instance/run.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { formatDollars } from '../../lib/money.ts';
import { counted } from '../../lib/plural.ts';
import { formatTime } from '../../lib/time.ts';
import { ageText } from '../../views/amounts.ts';
import { type CommandError, EXIT, failed, Interrupted } from '../command-error.ts';
import { type FollowDeps, followRun, type RunEnd, removeRefused } from './follow-run.ts';
import { JOB_EXIT, personExitCodeOf, resultOf, runMs } from './run-result.ts';

/** Dependencies of a run that a person follows. */
export interface AttendDeps extends FollowDeps {
  /** Asks the person at the terminal; undefined without a terminal. Rejects if the terminal is gone. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  /** True if this process created the object: then it also deletes a refused one. */
  readonly isCreator: boolean;
}

/** End of the attendance of a run. */
export interface Attended {
  readonly exitCode: number;
  /** True if the run goes on. */
  readonly isLeft: boolean;
  /** Refusal of the operator to rent for it. */
  readonly refusal?: CommandError;
}

const READ_MS = 5_000;

/**
 * Follows a run to its end. After Ctrl-C a person chooses whether it goes on; without a terminal, after SIGTERM, and
 * after a second Ctrl-C it does. Deletes an object that this process created and the operator refuses.
 */
export async function attend(object: GpuInstance, deps: AttendDeps): Promise<Attended> {
  const { signal } = deps;
  try {
    return await endOf(await followRun(object, deps), deps);
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
    return leave(object, signal.reason, deps);
  }
}

/** Returns the lines about a run without a follower: how to follow it, and how to end it and its bill. */
export function leftLines(name: string, namespace: string): readonly string[] {
  return [
    `Follow it: gpu-rent run --follow --name ${name} -n ${namespace}`,
    `End it and its bill: kubectl delete gpui ${name} -n ${namespace}`,
  ];
}

/** Returns the line about the deletion of an object, with the effect on its machine. */
export function deletedLine({ metadata: { name }, spec }: GpuInstance): string {
  return `gpui/${name} is deleted; ${AFTER_DELETION[spec.deletionPolicy]}`;
}

const AFTER_DELETION = {
  Destroy: 'the operator destroys its machine.',
  Stop: 'the operator stops its machine, and the disk is still billed.',
  Retain: 'its machine keeps running and billing.',
} as const;

async function endOf(end: RunEnd, deps: AttendDeps): Promise<Attended> {
  const { clock, print } = deps;
  const { object } = end;
  const { name } = object.metadata;
  switch (end.type) {
    case 'deleted':
      print(`gpui/${name} was deleted before its run ended.`);
      return { exitCode: JOB_EXIT.cancelled, isLeft: false };
    case 'refused': {
      if (deps.isCreator) await removeRefused(object, deps);
      const remedy = deps.isCreator ? 'Correct the options.' : 'Correct its manifest, or delete it.';
      const refusal = failed(`gpui/${name}: ${end.message}`, `Nothing was rented. ${remedy}`);
      return { exitCode: refusal.exitCode, isLeft: false, refusal };
    }
    case 'finished': {
      const result = resultOf(object);
      if (result === undefined) throw new Error('a finished run without a result');
      const { attempts = 0 } = object.status?.run ?? {};
      const dollars = formatDollars(totalCost(object.status?.cost, clock.now()));
      const took = ageText(runMs(object, clock.now()));
      print(`gpui/${name} ${result.reason}: ${result.message}`);
      print(`${counted(attempts, 'machine')}, ${took}, $${dollars}.`);
      return { exitCode: personExitCodeOf(result), isLeft: false };
    }
  }
}

async function leave(object: GpuInstance, reason: unknown, deps: AttendDeps): Promise<Attended> {
  const { print, ask, namespace } = deps;
  const { name } = object.metadata;
  const exitCode = reason instanceof Interrupted ? reason.exitCode : EXIT.interrupted;
  const latest = await now(object, deps);
  if (latest.type === 'absent') {
    print(deletedLine(object));
    return { exitCode, isLeft: false };
  }
  if (latest.object && resultOf(latest.object))
    return endOf({ type: 'finished', object: latest.object }, deps);
  // Printed before the question: a second Ctrl-C ends this process, and not the run.
  print(runsOnLine(name, latest.object));
  for (const line of leftLines(name, namespace)) print(line);
  const isInterrupt = exitCode === EXIT.interrupted;
  if (!ask || !isInterrupt || !(await wantsEnd(latest.object, ask))) return { exitCode, isLeft: true };
  if (!(await cancelled(latest.object ?? object, deps))) return { exitCode, isLeft: true };
  // Another Ctrl-C ends this process, and the operator ends the run all the same.
  const end = await followRun(latest.object ?? object, { ...deps, signal: new AbortController().signal });
  await endOf(end, deps);
  return { exitCode, isLeft: false };
}

type Latest =
  | { readonly type: 'absent' }
  /** Undefined: the API server does not answer. */
  | { readonly type: 'present'; readonly object: GpuInstance | undefined };

async function now({ metadata }: GpuInstance, { kube, clock, namespace }: FollowDeps): Promise<Latest> {
  const { name, uid } = metadata;
  try {
    const found = await withDeadline({ clock, limitMs: READ_MS }, () =>
      kube.get<GpuInstance>(gpuInstanceResource, { namespace, name }),
    );
    if (found?.metadata.uid !== uid || found?.metadata.deletionTimestamp !== undefined)
      return { type: 'absent' };
    return { type: 'present', object: found };
  } catch {
    return { type: 'present', object: undefined };
  }
}

function runsOnLine(name: string, object: GpuInstance | undefined): string {
  if (object === undefined) return `gpui/${name} keeps running and billing; API server unreachable.`;
  const { instanceId } = object.status ?? {};
  const limit = maxLifetimeOf(object.spec);
  const until = `until its program ends${limit === undefined ? '' : `, at most ${limit}`}`;
  return instanceId === undefined
    ? `gpui/${name} goes on: it has no machine now, and the operator rents one.`
    : `gpui/${name} goes on: machine ${instanceId} bills ${priceText(object) ?? 'an unknown price'} ${until}.`;
}

function priceText({ status }: GpuInstance): string | undefined {
  const price = status && billedPerHour(status);
  return price === undefined ? undefined : `$${price}/h`;
}

async function wantsEnd(
  object: GpuInstance | undefined,
  ask: NonNullable<AttendDeps['ask']>,
): Promise<boolean> {
  const price = object && priceText(object);
  const running = price === undefined ? 'Leave it running' : `Leave it running (${price})`;
  try {
    return /^e(nd)?( it)?$/i.test(await ask(`${running}, or end it? [leave/end]`));
  } catch {
    return false;
  }
}

/** Requests the end of the run from the operator. Resolves to false, after a line about it, if that failed. */
async function cancelled(object: GpuInstance, deps: FollowDeps): Promise<boolean> {
  const { name } = object.metadata;
  const { kube, clock, namespace, print } = deps;
  const body = {
    metadata: { annotations: { [annotations.cancelAt]: formatTime(cancelTime(object, clock.now())) } },
  };
  try {
    await withDeadline({ clock, limitMs: READ_MS }, (signal) =>
      kube.patch(gpuInstanceResource, { namespace, name }, { type: 'merge', body, signal }),
    );
    print(`gpui/${name} is cancelled; the operator stops its machine and destroys it.`);
    return true;
  } catch (error) {
    print(`gpui/${name} could not be cancelled: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
}
