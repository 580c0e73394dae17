import type { GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import { fittingText } from '../lib/text.ts';
import { parseTime } from '../lib/time.ts';
import type { MachineRow, MachineState } from '../market/machine.ts';

/* States of machines, listed or on record, and their meaning for decisions. PURE. */

/** State of a machine with the market's word for it; null if the market reports no word. */
export type ShownState = Pick<MachineRow, 'state' | 'marketStatus'>;

type RecordedState = Pick<GpuInstanceStatus, 'actualStatus' | 'machineState'>;

/** Word of a status while the market reports none. */
const NO_STATUS = 'provisioning';

/**
 * States of status words that need no separate state. Earlier versions recorded only these words; for any other word
 * the status also records the state.
 */
const STATES_BY_STATUS: ReadonlyMap<string, MachineState> = new Map<string, MachineState>([
  [NO_STATUS, 'pending'],
  ['created', 'pending'],
  ['loading', 'loading'],
  ['rebooting', 'loading'],
  ['running', 'running'],
  ['stopped', 'stopped'],
  ['frozen', 'stopped'],
  ['exited', 'exited'],
  ['unknown', 'unseen'],
  ['offline', 'offline'],
  ['destroyed', 'ended'],
]);

function stateOfStatus(status: string): MachineState {
  return STATES_BY_STATUS.get(status) ?? 'unrecognized';
}

/** Returns the word that a status shows: the market's own, or `provisioning` while it reports none. */
export function shownStatus({ marketStatus }: Pick<ShownState, 'marketStatus'>): string {
  return fittingText(marketStatus ?? undefined, 64) ?? NO_STATUS;
}

/** Returns the status fields that record a state. The state itself is omitted if the word implies it. */
export function stateFields(shown: ShownState): RecordedState {
  const actualStatus = shownStatus(shown);
  return { actualStatus, ...(stateOfStatus(actualStatus) !== shown.state && { machineState: shown.state }) };
}

/** Returns the state that a status records; `pending` without a word if it records none. */
export function recordedState({ actualStatus = NO_STATUS, machineState }: RecordedState = {}): ShownState {
  const marketStatus = actualStatus === NO_STATUS ? null : actualStatus;
  return { state: machineState ?? stateOfStatus(actualStatus), marketStatus };
}

/** Returns true if a status records the state and the word of a row. */
export function isRecorded(shown: ShownState, status: RecordedState | undefined): boolean {
  if (status?.actualStatus !== shownStatus(shown)) return false;
  return recordedState(status).state === shown.state;
}

/** Returns true if a status records that its machine runs. */
export function isUp(status: RecordedState | undefined): boolean {
  return recordedState(status).state === 'running';
}

/** Returns when the machine of a status last began to run (epoch milliseconds); undefined if it was never seen running. */
export function lastRunAt(
  status: Pick<GpuInstanceStatus, 'runningAt' | 'lastRunAt'> | undefined,
): number | undefined {
  return parseTime(status?.lastRunAt ?? status?.runningAt);
}

/** Classes of states that the rules distinguish. */
export type StateClass = 'booting' | 'running' | 'stopped' | 'failing' | 'unrecognized';

/** `ended` neither serves nor fails: the next list shows the machine's further state. */
const CLASSES: Readonly<Record<MachineState, StateClass>> = {
  pending: 'booting',
  loading: 'booting',
  running: 'running',
  stopped: 'stopped',
  exited: 'failing',
  broken: 'failing',
  unseen: 'failing',
  offline: 'failing',
  ended: 'unrecognized',
  unrecognized: 'unrecognized',
};

/** Returns the class of a state. */
export function stateClass({ state }: Pick<ShownState, 'state'>): StateClass {
  return CLASSES[state];
}

/** Returns true if the machine is stopped on request or frozen by its market: its disk is billed, its GPU is not. */
export function isStopped({ state }: Pick<ShownState, 'state'>): boolean {
  return state === 'stopped';
}

/** Returns true if the container has ended, or runs without its GPU. */
export function hasExited({ state }: Pick<ShownState, 'state'>): boolean {
  return state === 'exited' || state === 'broken';
}

/** Returns true if no program of the machine runs or answers: it is stopped, or its container has ended. */
export function isAtRest(shown: Pick<ShownState, 'state'>): boolean {
  return isStopped(shown) || hasExited(shown);
}

/** Returns true if the machine ran before and its market reports no status word any more, so its state is unknown. */
export function isSilent({ state, marketStatus }: ShownState, hasRun: boolean): boolean {
  return state === 'pending' && marketStatus === null && hasRun;
}

/**
 * Returns true if the state does not show whether the machine is stopped: its host is unreachable, its container has
 * ended, the word is unknown, or a machine that ran no longer has a status word.
 */
export function hidesPower(shown: ShownState, hasRun: boolean): boolean {
  const type = stateClass(shown);
  return type === 'failing' || type === 'unrecognized' || isSilent(shown, hasRun);
}

/** Returns true if the container has ended or the host is unreachable. The machine may recover. */
export function isFailing(shown: Pick<ShownState, 'state'>): boolean {
  return stateClass(shown) === 'failing';
}

/** Returns true if the host does not answer the market, which then reports nothing about the container. */
export function isUnseen({ state }: Pick<ShownState, 'state'>): boolean {
  return state === 'unseen' || state === 'offline';
}

/**
 * Returns true if the machine counts as unhealthy: it fails, or its market removes it. If that lasts, the machine is
 * lost.
 */
export function isLost(shown: Pick<ShownState, 'state'>): boolean {
  return isFailing(shown) || shown.state === 'ended';
}
