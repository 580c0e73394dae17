import { FUSE_FOLDER } from '../../src/instance/self-end.ts';
import type { Contract } from '../../src/simulator/tables/contracts.ts';
import { rowsOf } from '../../src/simulator/world/world-store.ts';
import type { Console } from './console.ts';
import type { SimulatedWorld } from './world.ts';

/** Program of one machine of a run. */
export interface Program {
  /** Seconds of running after which it ends; it never ends without them. */
  readonly seconds?: number;
  readonly exitCode?: number;
  /** Places in which its machine shows the result: log and files if left out. */
  readonly shows?: 'log' | 'files' | 'nothing';
  /** Lines that it prints before its end: one by default. */
  readonly lines?: number;
  /** True if the machine cannot stop itself. */
  readonly runsOn?: boolean;
  /** Nonce that the result has in place of its own. */
  readonly nonce?: string;
}

const FOLDER = FUSE_FOLDER.slice(1);
const SECOND = 1_000;
/** The wrapper repeats its stop. */
const REPEAT_MS = 60 * SECOND;

/** Returns the nonce of the rental of a run; undefined for any other machine. */
const nonceOf = ({ env }: Contract): string | undefined => env['GPURENTAL_RUN'];

/** Returns the exit code of the program of that machine, from the name of its file; undefined before its end. */
export function endedWith(contract: Contract): number | undefined {
  const end = `.${nonceOf(contract)}`;
  const name = Object.keys(contract.files ?? {}).find(
    (path) => path.startsWith(`${FOLDER}/exit.`) && path.endsWith(end),
  );
  return name === undefined ? undefined : Number(name.split('/exit.')[1]?.split('.')[0]);
}

export interface ProgramsOptions {
  /** Program of each machine, by the number of the machine from 1, and by its contract. */
  readonly programOf: (rental: number, id: number) => Program;
  /** Refuses stops of machines while it is true. */
  readonly refusesStop?: () => boolean;
  /** Called when a program has ended, before its machine stops. */
  readonly onEnd: (id: number) => void;
}

/**
 * Programs of the machines of runs, in virtual time. Each does what the wrapper in its start text does: it writes the
 * result, and stops its machine until that has happened. It runs once on a machine.
 */
export class Programs {
  readonly #world: SimulatedWorld;
  readonly #console: Console;
  readonly #options: ProgramsOptions;
  /** Machines in the order in which they first ran. */
  readonly #machines: number[] = [];
  readonly #stoppedAt = new Map<number, number>();
  /** Results by machine, also of those that show none. */
  readonly #codes = new Map<number, number>();

  constructor(world: SimulatedWorld, console: Console, options: ProgramsOptions) {
    this.#world = world;
    this.#console = console;
    this.#options = options;
  }

  /** Ends the programs that are due, and repeats stops. */
  follow(): void {
    for (const contract of rowsOf(this.#world.market.store.current().tables.contracts)) {
      const nonce = nonceOf(contract);
      if (nonce === undefined || contract.actualStatus !== 'running') continue;
      if (!this.#machines.includes(contract.id)) this.#machines.push(contract.id);
      const program = this.#options.programOf(this.#machines.indexOf(contract.id) + 1, contract.id);
      if (this.#codes.has(contract.id)) this.#stop(contract, program);
      else if (this.#world.now - contract.statusSince >= (program.seconds ?? Infinity) * SECOND)
        this.#end(contract, { ...program, nonce: program.nonce ?? nonce });
    }
  }

  #end(contract: Contract, { exitCode = 0, shows, nonce = '', lines = 1, ...program }: Program): void {
    this.#codes.set(contract.id, exitCode);
    this.#world.note(`the program on machine ${contract.id} ends with code ${exitCode}`);
    const printed = Array.from({ length: lines }, (_, index) => `epoch ${index + 1}`);
    const output = ['', `gpurental ${nonce} start 1`, ...printed, '', `gpurental ${nonce} exit ${exitCode}`];
    const file = { [`${FOLDER}/exit.${exitCode}.${nonce}`]: 0 };
    const ended: Contract = {
      ...contract,
      ...(shows !== 'files' && shows !== 'nothing' && { output }),
      ...(shows !== 'log' && shows !== 'nothing' && { files: { ...contract.files, ...file } }),
    };
    this.#world.market.store.put('contracts', ended);
    this.#options.onEnd(contract.id);
    this.#stop(ended, program);
  }

  /** Stops the machine, unless it cannot, or its host has no network. A stop that is refused is repeated later. */
  #stop({ id, machineId }: Contract, { runsOn = false }: Program): void {
    const { now, market } = this.#world;
    const isUp = market.store.current().tables.machines[machineId]?.state === 'up';
    if (runsOn || !isUp || now - (this.#stoppedAt.get(id) ?? -REPEAT_MS) < REPEAT_MS) return;
    this.#stoppedAt.set(id, now);
    if (this.#options.refusesStop?.()) this.#world.note(`machine ${id} is refused to stop itself`);
    else void this.#console.stop(id);
  }
}
