import {
  type ConditionType,
  endpointGroupConditions,
  gpuInstanceConditions,
  marketplaceAccountConditions,
} from '../../api/v1alpha1/conditions.ts';
import { endpointGroupPhases } from '../../api/v1alpha1/endpoint-group.ts';
import { gpuInstancePhases } from '../../api/v1alpha1/gpu-instance.ts';
import { endpointGroupResource, gpuInstanceResource, type KindNames } from '../../api/v1alpha1/names.ts';
import { sleep, systemClock } from '../../lib/clock.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import type { Command, CommandContext } from '../command.ts';
import { failed, timedOut, usageError } from '../failures/command-error.ts';
import { absent } from '../objects/cluster-objects.ts';
import { conditionHolds, type Judged, type Progress, progressOf } from '../objects/kstatus.ts';
import { parseObject, shownName } from '../objects/object-name.ts';
import { parseTime, textOption } from '../options/option-values.ts';
import { ageText } from '../output/amounts.ts';
import { createOutput, createProgress } from '../output/output.ts';
import { withCluster } from '../sessions/cluster-session.ts';

const POLL_EVERY_MS = 1_000;

/** Waits until an object is as wanted; exit code 4 when it is not in time. */
export const waitCommand: Command = {
  description:
    'ready follows the rules of Helm and Flux: the present generation, nothing reconciling, Ready. A stalled object ends the wait at once with exit code 1; exit code 4 means that the time is up.',
  examples: [
    'gpu-rent wait gpui/trainer --timeout 20m',
    'gpu-rent wait gpui/trainer --for delete',
    'gpu-rent wait epg/chat --for condition=MetricsAvailable',
    'gpu-rent wait gpui/trainer --for phase=Stopped',
  ],
  args: [{ name: '<object>', description: 'gpui/name, epg/name or gpuacct/name.' }],
  options: [
    {
      flags: '--for <what>',
      description: 'ready, delete, condition=Type[=Value] or phase=Phase. Default: ready.',
    },
    { flags: '--timeout <time>', description: 'Default: 10m.' },
  ],
  optionSets: ['output', 'cluster'],
  async run(input, context) {
    const { resource, name } = parseObject(input.args[0] ?? '');
    const goal = goalOf(textOption(input.options, '--for') ?? 'ready', resource);
    const timeoutMs = parseTime(textOption(input.options, '--timeout') ?? '10m', '--timeout');
    const shown = shownName(resource, name);
    const progress = createProgress(context);
    const took = await withCluster(input, context, (cluster) => {
      const poll = () =>
        cluster.kube.get<Judged & KubeObject>(resource, { namespace: cluster.namespace, name });
      const missing = () => absent(cluster, resource, name);
      return waitFor({ poll, goal, shown, missing, timeoutMs, progress }, context);
    }).finally(() => progress.clear());
    await createOutput(input, context).changed([
      { kind: shown.split('/')[0] ?? '', name, did: `is ${goal.state} after ${ageText(took)}` },
    ]);
    return 0;
  },
};

interface Waiting {
  readonly poll: () => Promise<Judged | undefined>;
  readonly goal: Goal;
  readonly shown: string;
  readonly missing: () => Promise<Error>;
  readonly timeoutMs: number;
  readonly progress: { show(text: string): void };
}

/** An API server that is away for a moment does not end a wait of twenty minutes. */
function unlessPassing(error: unknown): Progress {
  if (isKubeError(error, 'unavailable', 'throttled')) return { state: 'InProgress', message: error.message };
  throw error;
}

/** Resolves to how long it took in milliseconds. */
async function waitFor(
  { poll, goal, shown, missing, timeoutMs, progress }: Waiting,
  { signal }: CommandContext,
): Promise<number> {
  const begun = systemClock.monotonic();
  for (let polls = 0; ; polls += 1) {
    const judged = await poll()
      .then(goal.judge)
      .catch((error: unknown) => (polls === 0 ? Promise.reject(error) : unlessPassing(error)));
    const took = systemClock.monotonic() - begun;
    if (judged === 'reached') return took;
    if (judged === 'hopeless') throw await missing();
    const message = judged.state === 'Current' ? 'It is as its spec says.' : judged.message;
    if (judged.state === 'Failed')
      throw failed(`${shown} is stalled: ${message}`, `Run gpu-rent status ${shown} for details.`);
    if (took + POLL_EVERY_MS > timeoutMs) {
      throw timedOut(
        `${shown} was not ${goal.state} within ${ageText(timeoutMs)}: ${message}`,
        `Run gpu-rent explain ${shown} to see why.`,
      );
    }
    progress.show(`${shown}: ${message}`);
    await sleep(systemClock, POLL_EVERY_MS, signal);
  }
}

/** What is waited for. */
interface Goal {
  /** As it reads behind `is` and `was not`. */
  readonly state: string;
  /** undefined: there is no such object. */
  readonly judge: (object: Judged | undefined) => 'reached' | 'hopeless' | Progress;
}

/** Reads `--for` for an object of that kind; a word that the kind does not have would never come true. */
function goalOf(text: string, kind: KindNames): Goal {
  const [what = '', name = '', value = 'True'] = text.split('=');
  switch (what.toLowerCase()) {
    case 'ready':
      return { state: 'ready', judge: judgeReady };
    case 'delete':
      return { state: 'gone', judge: (object) => (object ? progressOf(object) : 'reached') };
    case 'condition':
      return conditionGoal(
        knownName(name, Object.keys(conditionsOf(kind)), text),
        knownName(value, STATUSES, text),
      );
    case 'phase': {
      const phase = knownName(name, phasesOf(kind), text);
      const now = (object: Judged) => {
        const found = phaseOf(object);
        return found === undefined ? 'It has no phase yet.' : `Its phase is ${found}.`;
      };
      return { state: phase, judge: judging((object) => phaseOf(object) === phase, now) };
    }
    default:
      throw usageError(`--for: "${text}" is none of ready, delete, condition=Type[=Value], phase=Phase.`);
  }
}

const STATUSES = ['True', 'False', 'Unknown'];

function conditionsOf(kind: KindNames): Readonly<Record<string, ConditionType>> {
  if (kind === gpuInstanceResource) return gpuInstanceConditions;
  return kind === endpointGroupResource ? endpointGroupConditions : marketplaceAccountConditions;
}

function phasesOf(kind: KindNames): readonly string[] {
  if (kind === gpuInstanceResource) return gpuInstancePhases;
  return kind === endpointGroupResource ? endpointGroupPhases : [];
}

function knownName(name: string, names: readonly string[], text: string): string {
  const known = names.find((each) => each.toLowerCase() === name.toLowerCase());
  if (known !== undefined) return known;
  if (names.length === 0)
    throw usageError(`--for: "${text}": this kind has no phase.`, 'Wait for a condition.');
  throw usageError(`--for: "${text}": unknown name "${name}".`, `One of: ${names.join(', ')}.`);
}

function judgeReady(object: Judged | undefined): ReturnType<Goal['judge']> {
  if (!object) return 'hopeless';
  const progress = progressOf(object);
  return progress.state === 'Current' ? 'reached' : progress;
}

function conditionGoal(type: string, value: string): Goal {
  const now = ({ status }: Judged) => {
    const found = status?.conditions?.find((condition) => condition.type === type);
    return found
      ? `${type} is ${found.status} (${found.reason}): ${found.message}`
      : `It has no condition ${type}.`;
  };
  return {
    state: `${type}=${value}`,
    judge: judging((object) => conditionHolds(object, type, value), now),
  };
}

/** `now`: how it stands where it is as its spec says, and not as waited for. */
function judging(holds: (object: Judged) => boolean, now: (object: Judged) => string): Goal['judge'] {
  return (object) => {
    if (!object) return 'hopeless';
    if (holds(object)) return 'reached';
    const progress = progressOf(object);
    const message = progress.state === 'Current' ? now(object) : progress.message;
    // A condition may come true on a stalled object as well: only time ends that wait.
    const state = progress.state === 'Terminating' ? progress.state : 'InProgress';
    return { state, message };
  };
}

function phaseOf({ status }: Judged): string | undefined {
  const phase = status && 'phase' in status ? status.phase : undefined;
  return typeof phase === 'string' ? phase : undefined;
}
