import type { OwnedMachine } from '../facts.ts';
import type { MachineState } from '../stage.ts';

/** A recorded machine and what it is doing. */
export interface Held<S extends MachineState = MachineState> {
  readonly machine: OwnedMachine;
  readonly state: S;
}

/** A machine's state by its name. */
export type StateNamed<T extends MachineState['type']> = Extract<MachineState, { type: T }>;

/** What a list can show a machine to be doing. */
export type Listed = Exclude<MachineState, { type: 'absent' }>;
