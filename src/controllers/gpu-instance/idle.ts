import { annotations } from '../../api/v1alpha1/names.ts';
import { type IdlePolicy, idleEnd, idleExtension, idlePolicy } from '../../instance/idle.ts';
import { fittingText } from '../../lib/text.ts';
import { formatTime } from '../../lib/time.ts';
import type { Facts, HeldFacts } from './facts.ts';

/** Minimum share of the idle time that complete lists must cover. */
const MIN_COVERED = 0.8;
/** Minimum number of complete lists that show the machine as idle, however rare they are. */
const MIN_LISTS = 5;

/** Idle time of a running machine by the rules of `spec.idle`. Undefined values: see {@link idleStateOf}. */
export type IdleState =
  /** Also: not watched for long enough by this process. */
  | { readonly type: 'inUse'; readonly policy: IdlePolicy }
  | {
      readonly type: 'idle';
      readonly policy: IdlePolicy;
      /** Epoch milliseconds, by the present wall clock. */
      readonly since: number;
      /** Time until `after` is over; negative after that. */
      readonly leftMs: number;
      /** Time until the extension is over; minus infinity without one. */
      readonly extendedMs: number;
      /** True if lists cover enough of the time, and date the end of an extension. */
      readonly isProven: boolean;
      /** Reason why a person prevents the end; undefined without one. */
      readonly kept: string | undefined;
      /** Time until the end, at least `warning` after its event. Undefined with Report, and while `kept`. */
      readonly endsInMs: number | undefined;
      /** True if the record has the warning of this end, and this process has seen it there. */
      readonly isWarned: boolean;
    };

/** Facts about the idle time of a held machine, and about its end. */
export type IdleFacts = Pick<HeldFacts, 'object' | 'machine' | 'account' | 'clock' | 'memory'>;

/**
 * Returns the idle time of the machine. Undefined if `spec.idle` does not apply: it is missing, the object is a
 * worker of a group, the machine does not run or is due to stop anyway, or its market shows no utilization.
 */
export function idleStateOf(facts: IdleFacts): IdleState | undefined {
  const { object, machine, account, clock, memory } = facts;
  const policy = idlePolicy(object);
  const isRunning = machine.list?.recorded?.state === 'running' && object.spec.powerState === 'Running';
  if (!policy || !isRunning || account.facts?.market.hasUtilization !== true) return undefined;
  const view = machine.idle;
  if (!view) return { type: 'inUse', policy };
  const { afterMs, warningMs, action } = policy;
  const idleMs = clock.steadyNow - view.since;
  const leftMs = afterMs - idleMs;
  const extension = extensionOf(facts);
  const kept = keptOf(facts, { leftMs, warningMs, extension });
  const { idleWarnedAt = Number.NEGATIVE_INFINITY } = memory;
  const isWarned = idleWarnedAt >= view.since;
  const warnedMs = isWarned ? clock.steadyNow - idleWarnedAt : 0;
  const endsInMs = Math.max(leftMs, extension.endsInMs, warningMs - warnedMs);
  return {
    type: 'idle',
    policy,
    since: clock.now - idleMs,
    leftMs,
    extendedMs: extension.endsInMs,
    isProven: view.covered >= MIN_COVERED && view.lists >= MIN_LISTS && extension.isDated,
    kept,
    endsInMs: action === 'Report' || kept !== undefined ? undefined : endsInMs,
    isWarned,
  };
}

interface Extension {
  /** Minus infinity without one, infinity if the annotation is no time. */
  readonly endsInMs: number;
  /** True if lists agree on the present time, which decides the end of the extension. */
  readonly isDated: boolean;
  /** The annotation. */
  readonly text: string;
  readonly isInvalid: boolean;
}

/** Returns the extension by the annotation. */
function extensionOf({ object, clock }: Pick<IdleFacts, 'object' | 'clock'>): Extension {
  const until = idleExtension(object);
  const text = fittingText(object.metadata.annotations?.[annotations.idleExtendUntil], 100) ?? '';
  if (until === undefined)
    return { endsInMs: Number.NEGATIVE_INFINITY, isDated: true, text, isInvalid: false };
  if (until === 'invalid')
    return { endsInMs: Number.POSITIVE_INFINITY, isDated: true, text, isInvalid: true };
  const now = clock.confirmedNow ?? Math.min(clock.now, clock.steadyNow);
  return { endsInMs: until - now, isDated: clock.confirmedNow !== undefined, text, isInvalid: false };
}

/** Returns how a person keeps the machine. An extension that ends within the warning is part of the end. */
function keptOf(
  { object: { metadata, spec } }: Pick<IdleFacts, 'object'>,
  end: { readonly leftMs: number; readonly warningMs: number; readonly extension: Extension },
): string | undefined {
  const { extension, warningMs } = end;
  if (metadata.annotations?.[annotations.hold] !== undefined) return `annotation ${annotations.hold}`;
  if (spec.paused) return 'spec.paused';
  if (extension.isInvalid)
    return `annotation ${annotations.idleExtendUntil} is ${JSON.stringify(extension.text)}, which is no time`;
  const isLater = extension.endsInMs > Math.max(warningMs, end.leftMs);
  return isLater ? `annotation ${annotations.idleExtendUntil} is ${extension.text}` : undefined;
}

/** Returns true if the machine may be ended now for idleness: `after` and the warning are over, and lists prove it. */
export function isIdleDue(facts: IdleFacts): boolean {
  const state = idleStateOf(facts);
  if (state?.type !== 'idle') return false;
  const { endsInMs = Number.POSITIVE_INFINITY } = state;
  return state.isWarned && state.isProven && endsInMs <= 0;
}

/**
 * Returns the reason why the machine must be stopped, or stay stopped, as idle although its powerState is Running. A
 * running machine is only stopped while it is still idle: it may have been used since the idle time was recorded.
 */
export function idleStopOf(facts: IdleFacts): string | undefined {
  const { object } = facts;
  const endedAt = idleEnd(object);
  if (endedAt === undefined) return undefined;
  const isRunning = facts.machine.list?.recorded?.state === 'running';
  if (!isRunning) return `Stopped at ${formatTime(endedAt)}: ${idleText(facts)}`;
  return object.spec.idle?.action === 'Stop' && isIdleDue(facts) ? idleText(facts) : undefined;
}

/** Returns the idle time as a sentence, by the policy. */
export function idleText({ object: { spec } }: Pick<Facts, 'object'>): string {
  const { below = 0, after } = spec.idle ?? {};
  return `GPU utilization below ${below} % for ${after}.`;
}
