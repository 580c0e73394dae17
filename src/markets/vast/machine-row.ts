import type { MachineRow, MachineState } from '../../market/machine.ts';
import type { ActualStatus, Instance } from './instances/instance.ts';

const STATES: Readonly<Record<NonNullable<ActualStatus>, MachineState>> = {
  created: 'pending',
  loading: 'loading',
  rebooting: 'loading',
  running: 'running',
  stopped: 'stopped',
  frozen: 'stopped',
  exited: 'exited',
  unknown: 'unseen',
  offline: 'offline',
  destroyed: 'ended',
  unrecognized: 'unrecognized',
};

/** Returns the state of a status of the service. */
export function machineState(status: ActualStatus): MachineState {
  return status === null ? 'pending' : STATES[status];
}

/** Returns an instance of the client as a row of the port. */
export function toMachineRow(instance: Instance): MachineRow {
  const { actualStatus, actualStatusText, intendedStatus, power, ...same } = instance;
  return {
    ...same,
    state: machineState(actualStatus),
    marketStatus: actualStatusText,
    intendedPower: intendedStatus === undefined ? undefined : (powerOf(intendedStatus) ?? 'other'),
    power: powerOf(power),
  };
}

function powerOf(status: string | undefined): 'running' | 'stopped' | undefined {
  return status === 'running' || status === 'stopped' ? status : undefined;
}
