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

/** How often beside others, and what. */
type Deed = readonly [weight: number, act: () => unknown];

/** What users come to do with their objects, drawn from a seed. */
export class Whims {
  readonly #options: WhimsOptions;
  readonly #random: Random;
  readonly #paused = new Set<string>();
  readonly #pausedGroups = new Set<string>();
  /** What a person has written on them keeps them from a machine, perhaps. */
  readonly #restrained = new Set<string>();
  readonly #backups = new Map<string, JsonObject>();
  #created: number;

  constructor(options: WhimsOptions) {
    this.#options = options;
    this.#random = options.random;
    this.#created = options.created;
  }

  /** Somebody does something. */
  act(): void {
    if (this.#random.next() < 0.1) this.#actOnAccount();
    else if (this.#options.hasGroup && this.#random.next() < 0.4) this.#actOnGroup();
    else this.#actOnInstance();
  }

  #actOnGroup(): void {
    const { users } = this.#options;
    const load = () => Math.round(this.#random.next() * MOST_LOAD * 100);
    const name = users.anyGroup();
    if (name === undefined) {
      this.#created += 1;
      users.createGroup(`group${this.#created}`, load());
      return;
    }
    const worker = users.anyWorker();
    this.#doOneOf([
      [40, () => users.setLoad(name, load())],
      [5, () => users.wake(name)],
      [5, () => users.setInactivityTimeout(name, '30s')],
      [10, () => users.setMaxWorkers(name, this.#upTo(3))],
      [5, () => users.setGroupImage(name, this.#anyImage())],
      [5, () => users.setColdWorkers(name, this.#upTo(3) - 1)],
      [5, () => this.#pauseGroup(name)],
      [15, () => users.deleteGroup(name)],
      [15, () => worker !== undefined && users.delete(worker)],
      [10, () => worker !== undefined && this.#meddle(worker)],
    ]);
  }

  #pauseGroup(name: string): void {
    const { users } = this.#options;
    this.#pausedGroups.add(name);
    const scaleUp = this.#random.next() < 0.7;
    users.setPause(name, { scaleUp, scaleDown: !scaleUp || this.#random.next() < 0.5 });
  }

  /** A person lays hands on a worker of a group. */
  #meddle(worker: string): void {
    const { users, invariants } = this.#options;
    this.#doOneOf([
      [2, () => this.#hold(worker)],
      [1, () => invariants.byPerson(() => users.setPowerState(worker, 'Stopped'))],
      [1, () => invariants.byPerson(() => users.release(worker))],
    ]);
  }

  #actOnInstance(): void {
    const { users } = this.#options;
    const name = users.anyName();
    if (name === undefined) {
      this.#create();
      return;
    }
    this.#doOneOf([
      [20, () => this.#create()],
      [30, () => users.delete(name)],
      [10, () => users.setPowerState(name, this.#oneOf(['Stopped', 'Running']))],
      [10, () => users.setImage(name, this.#anyImage())],
      [5, () => this.#pause(name)],
      [5, () => users.askForAnother(name)],
      [4, () => this.#stopInConsole(users.machineOf(name))],
      [3, () => users.setDeletionPolicy(name, this.#oneOf(['Destroy', 'Stop', 'Retain']))],
      [15, () => this.#restrain(name)],
      [13, () => this.#layHandsOn(name)],
    ]);
  }

  #actOnAccount(): void {
    const { users } = this.#options;
    this.#doOneOf([
      [30, () => void users.rotateKey()],
      [20, () => users.removeKey()],
      [20, () => users.setAccount({ orphanPolicy: 'Report' })],
      [30, () => users.setAccount({ limits: { maxInstances: this.#upTo(4) } })],
      [30, () => users.setAccount({ limits: { maxPricePerHour: '0.20' } })],
    ]);
  }

  /** What people left in the middle, they end. */
  settle(): void {
    for (const name of this.#paused) this.#options.users.setPaused(name, false);
    for (const name of this.#pausedGroups) this.#options.users.setPause(name, {});
    for (const name of this.#restrained) this.#options.users.liftPolicies(name);
    this.#options.users.setAccount({
      limits: {},
      orphanPolicy: this.#options.isSwept ? 'Destroy' : 'Report',
    });
    this.#options.users.bringKeyBack();
  }

  /** Half of the time under a name that there was before. */
  #create(): void {
    const { users } = this.#options;
    this.#created += 1;
    const fresh = `n${this.#created}`;
    const former = this.#oneOf(['a', `n${this.#upTo(this.#created)}`]);
    if (users.names().length < MOST_INSTANCES) users.createInstance(this.#oneOf([fresh, former]));
  }

  #pause(name: string): void {
    this.#options.users.setPaused(name, true);
    this.#paused.add(name);
  }

  /** Not a stranger's, whose id somebody wrote into a status. */
  #stopInConsole(machine: number | undefined): void {
    const { users, invariants } = this.#options;
    if (machine !== undefined && !invariants.isForeign(machine)) void users.console.stop(machine);
  }

  /** What only a sweeper can mend, so that it happens where one runs. */
  #layHandsOn(name: string): void {
    const { users, invariants, isSwept } = this.#options;
    if (!isSwept) return;
    const backup = this.#backups.get(name);
    this.#backups.set(name, users.backup(name));
    invariants.handsOn(name);
    this.#doOneOf([
      [25, () => users.removeFinalizers(name)],
      [10, () => users.removeIntent(name)],
      [25, () => users.editStatus(name, this.#anyMachine())],
      [20, () => backup && users.restore(name, backup)],
      [20, () => this.#relabel(users.machineOf(name))],
    ]);
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

  #hold(name: string): void {
    this.#restrained.add(name);
    this.#options.users.hold(name);
  }

  #restrain(name: string): void {
    const { users } = this.#options;
    this.#restrained.add(name);
    this.#doOneOf([
      [4, () => this.#hold(name)],
      [2, () => users.setPolicies(name, { maxLifetime: this.#oneOf(['2m', '5m']) })],
      [1, () => users.setPolicies(name, { maxTotalCost: '0.01' })],
      [2, () => users.setPolicies(name, { onVanish: 'Hold' })],
      [3, () => users.setPolicies(name, { updateStrategy: { type: 'OnDelete' } })],
      [3, () => users.setPolicies(name, { replacement: { maxPerHour: 5, policy: 'Never' } })],
    ]);
  }

  #anyImage(): string {
    return `example/work:${this.#upTo(3)}`;
  }

  /** A whole number from 1. */
  #upTo(most: number): number {
    return Math.ceil(this.#random.next() * most) || 1;
  }

  #oneOf<const T>(choices: readonly [T, ...T[]]): T {
    return choices[Math.floor(this.#random.next() * choices.length)] ?? choices[0];
  }

  #doOneOf(deeds: readonly Deed[]): void {
    let roll = this.#random.next() * deeds.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, act] of deeds) {
      roll -= weight;
      if (roll < 0) return void act();
    }
  }
}
