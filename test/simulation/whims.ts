import type { Random } from '../../src/lib/random.ts';
import type { Invariants } from './invariants.ts';
import type { JsonObject } from './memory-kube/json.ts';
import type { Users } from './users.ts';

export interface WhimsOptions {
  readonly users: Users;
  readonly invariants: Invariants;
  readonly random: Random;
  readonly hasGroup: boolean;
  /** Whether a sweeper mends what hands have done to finalizers and status. */
  readonly isSwept: boolean;
  /** How many objects there are from the start; later ones are counted on. */
  readonly created: number;
}

/** Hundreds of work per second that a user asks a group for; a worker does one of them, and four are too many. */
const MOST_LOAD = 4;
/** More instances that stand alone are not made. */
const MOST_INSTANCES = 4;

/** What users come to do with their objects, drawn from a seed. */
export class Whims {
  readonly #options: WhimsOptions;
  readonly #random: Random;
  readonly #backups = new Map<string, JsonObject>();
  #created: number;

  constructor(options: WhimsOptions) {
    this.#options = options;
    this.#random = options.random;
    this.#created = options.created;
  }

  /** Somebody does something. */
  act(): void {
    if (this.#random.next() < 0.05) void this.#options.users.rotateKey();
    else if (this.#options.hasGroup && this.#random.next() < 0.4) this.#actOnGroup();
    else this.#actOnInstance();
  }

  #actOnGroup(): void {
    const { users } = this.#options;
    const name = users.anyGroup();
    const worker = users.anyWorker();
    const roll = this.#random.next();
    const load = Math.round(this.#random.next() * MOST_LOAD * 100);
    if (name === undefined) {
      this.#created += 1;
      users.createGroup(`group${this.#created}`, load);
    } else if (roll < 0.6) users.setLoad(name, load);
    else if (roll < 0.8) users.deleteGroup(name);
    else if (worker !== undefined) users.delete(worker);
  }

  #actOnInstance(): void {
    const { users } = this.#options;
    const name = users.anyName();
    const roll = this.#random.next();
    if (name === undefined || roll < 0.2) {
      this.#created += 1;
      if (users.names().length < MOST_INSTANCES) users.createInstance(`n${this.#created}`);
    } else if (roll < 0.5) users.delete(name);
    else if (roll < 0.65) users.setPowerState(name, this.#random.next() < 0.5 ? 'Stopped' : 'Running');
    else if (roll < 0.8) users.setImage(name, `example/work:${Math.ceil(this.#random.next() * 3)}`);
    else this.#handsOn(name);
  }

  /** What only a sweeper can mend, so that it happens where one runs. */
  #handsOn(name: string): void {
    const { users, invariants, isSwept } = this.#options;
    if (!isSwept) return;
    const backup = this.#backups.get(name);
    this.#backups.set(name, users.backup(name));
    invariants.handsOn(name);
    const roll = this.#random.next();
    if (roll < 0.3) users.removeFinalizers(name);
    else if (roll < 0.6) users.editStatus(name, this.#anyMachine());
    else if (roll < 0.8 && backup) users.restore(name, backup);
    else this.#relabel(users.machineOf(name));
  }

  /** In the console. */
  #relabel(machine: number | undefined): void {
    if (machine === undefined) return;
    this.#options.invariants.labelledElsewhere(machine);
    void this.#options.users.console.label(machine, 'renamed');
  }

  /** Of anybody, or one that there never was. */
  #anyMachine(): number {
    const ids = this.#options.users.console.machines();
    return ids[Math.floor(this.#random.next() * (ids.length + 1))] ?? 1;
  }
}
