import type { GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import { fittingText } from '../lib/text.ts';
import { parseTime } from '../lib/time.ts';
import type { MachineRow, MachineState } from '../market/machine.ts';

/* States of machines, listed or on record, and their meaning for decisions. PURE. */

/** State of a machine with the market's word for it; a word of null: the market says none. */
export type ShownState = Pick<MachineRow, 'state' | 'marketStatus'>;

type RecordedState = Pick<GpuInstanceStatus, 'actualStatus' | 'machineState'>;

/** Word of a status while the market says none. */
const NO_STATUS = 'provisioning';

/**
 * States of words that a status may hold alone. Statuses of earlier versions hold no other text; for the word of another
 * market the status names the state beside it.
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

/** Returns the word that a status shows to people: the market's own, and `provisioning` while it says none. */
export function shownStatus({ marketStatus }: Pick<ShownState, 'marketStatus'>): string {
  return fittingText(marketStatus ?? undefined, 64) ?? NO_STATUS;
}

/** Fields of a status that record a state. The state itself is left out if the word tells it. */
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

/** Classes of states that the rules tell apart. */
export type StateClass = 'booting' | 'running' | 'stopped' | 'failing' | 'unrecognized';

/** `ended` neither serves nor fails: the next list shows what becomes of the machine. */
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
 * Leaves open if the machine is stopped: its host is not seen, its container has ended, or the word is unknown. A machine
 * that ran and shows no word any more counts too.
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

/** Counts as unhealthy when machines are counted, and is lost if it stays so: failing, or leaving its market. */
export function isLost(shown: Pick<ShownState, 'state'>): boolean {
  return isFailing(shown) || shown.state === 'ended';
}
