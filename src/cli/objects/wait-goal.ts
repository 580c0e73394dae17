import {
  type ConditionType,
  endpointGroupConditions,
  gpuInstanceConditions,
  marketplaceAccountConditions,
} from '../../api/v1alpha1/conditions.ts';
import { endpointGroupPhases } from '../../api/v1alpha1/endpoint-group.ts';
import { gpuInstancePhases } from '../../api/v1alpha1/gpu-instance.ts';
import { endpointGroupResource, gpuInstanceResource, type KindNames } from '../../api/v1alpha1/names.ts';
import { usageError } from '../failures/command-error.ts';
import { conditionHolds, type Judged, type Progress, progressOf } from './kstatus.ts';

/** What is waited for. */
export interface Goal {
  /** As it reads behind `is` and `was not`. */
  readonly state: string;
  /** undefined: there is no such object. */
  readonly judge: (object: Judged | undefined) => 'reached' | 'hopeless' | Progress;
}

/** Reads `--for` for an object of that kind; a word that the kind does not have would never come true. */
export function goalOf(text: string, kind: KindNames): Goal {
  const [what = '', word = '', value = 'True'] = text.split('=');
  switch (what.toLowerCase()) {
    case 'ready':
      return { state: 'ready', judge: judgeReady };
    case 'delete':
      return { state: 'gone', judge: (object) => (object ? progressOf(object) : 'reached') };
    case 'condition':
      return conditionGoal(
        knownWord(word, Object.keys(conditionsOf(kind)), text),
        knownWord(value, STATUSES, text),
      );
    case 'phase':
      return phaseGoal(knownWord(word, phasesOf(kind), text));
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

function knownWord(word: string, words: readonly string[], text: string): string {
  const known = words.find((each) => each.toLowerCase() === word.toLowerCase());
  if (known !== undefined) return known;
  if (words.length === 0)
    throw usageError(`--for: "${text}": this kind has no phase.`, 'Wait for a condition.');
  throw usageError(
    `--for: "${text}": there is no ${word || 'empty word'} here.`,
    `One of: ${words.join(', ')}.`,
  );
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

function phaseGoal(phase: string): Goal {
  const now = (object: Judged) => {
    const found = phaseOf(object);
    return found === undefined ? 'It has no phase yet.' : `Its phase is ${found}.`;
  };
  return { state: phase, judge: judging((object) => phaseOf(object) === phase, now) };
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
