import type { Chance } from './chance.ts';
import type { Invariants } from './invariants.ts';
import { GROUP_SPEC } from './specs.ts';
import type { Users } from './users.ts';

export interface GroupWhimsOptions {
  /** Does something in so many milliseconds, unless everybody has left by then. */
  readonly later: (ms: number, act: () => void) => void;
  readonly users: Users;
  readonly invariants: Invariants;
  readonly chance: Chance;
  /** Nothing may replace or destroy the machine of that object for a while. */
  readonly hold: (name: string) => void;
  readonly anyImage: () => string;
  /** True if Prometheus reports the load of groups. */
  readonly hasGateway: boolean;
}

/** Hundreds of work per second that a user asks a group for; a worker does one of them, and four are too many. */
const MAX_LOAD = 4;
/** Time after which the first workers for a load have machines. */
const GROWING_MS = 25_000;

/** Random actions of users on their groups and workers. */
export class GroupWhims {
  readonly #options: GroupWhimsOptions;
  readonly #edited = new Set<string>();
  #made = 0;

  constructor(options: GroupWhimsOptions) {
    this.#options = options;
  }

  /** Performs one random action. */
  act(): void {
    const { users, chance, anyImage, hasGateway } = this.#options;
    const name = users.anyGroup();
    if (name === undefined) {
      this.#create();
      return;
    }
    const worker = users.anyWorker();
    chance.doOneOf([
      [40, () => users.groups.setLoad(name, this.#load())],
      [5, () => users.groups.wake(name)],
      [5, () => users.groups.setInactivityTimeout(name, '30s')],
      [10, () => users.groups.setMaxWorkers(name, chance.upTo(3))],
      [5, () => users.groups.setImage(name, anyImage())],
      [5, () => users.groups.setColdWorkers(name, chance.upTo(3) - 1)],
      [5, () => this.#pause(name)],
      [hasGateway ? 20 : 0, () => users.groups.setPrometheus(chance.isWithin(0.5))],
      [15, () => this.#setOption(name)],
      [15, () => users.groups.delete(name)],
      [8, () => this.#deleteWhileGrowing(name)],
      [15, () => worker !== undefined && users.delete(worker)],
      [10, () => worker !== undefined && this.#meddle(worker)],
    ]);
  }

  /** Completes whatever users left half done. */
  settle(): void {
    if (this.#options.hasGateway) this.#options.users.groups.setPrometheus(true);
    for (const name of this.#edited) this.#options.users.groups.set(name, GROUP_SPEC);
  }

  #load(): number {
    return Math.round(this.#options.chance.below(MAX_LOAD * 100));
  }

  /** Deletes a group while its workers are created, rented and booting. */
  #deleteWhileGrowing(name: string): void {
    const { users, chance, later } = this.#options;
    users.groups.setLoad(name, MAX_LOAD * 100);
    later(chance.below(GROWING_MS), () => users.groups.delete(name));
  }

  /** Creates a group; half of the time with the name of a deleted one. */
  #create(): void {
    const { users, chance } = this.#options;
    this.#made += 1;
    users.groups.create(chance.isWithin(0.5) ? 'group' : `group${this.#made}`, this.#load());
  }

  #pause(name: string): void {
    const { users, chance } = this.#options;
    this.#edited.add(name);
    const scaleUp = chance.isWithin(0.7);
    users.groups.setPause(name, { scaleUp, scaleDown: !scaleUp || chance.isWithin(0.5) });
  }

  /** Sets a rarely changed option of a running group. */
  #setOption(name: string): void {
    const { users, chance } = this.#options;
    this.#edited.add(name);
    chance.doOneOf([
      [3, () => users.groups.set(name, { replicas: chance.below(3) })],
      [1, () => users.groups.set(name, { replicas: null, pause: {} })],
      [1, () => users.groups.set(name, { minLoad: '120' })],
      [1, () => users.groups.set(name, { targetUtilizationPercent: 50 })],
      [1, () => users.groups.set(name, { scaleToZero: 'Never', inactivityTimeout: null })],
      [1, () => users.groups.set(name, { coldMultiplier: '2.5' })],
      [1, () => users.groups.set(name, { wakeTimeout: '5s' })],
      [1, () => users.groups.set(name, { spreadBy: chance.oneOf(['Machine', 'Host']) })],
      [1, () => users.groups.set(name, { endpointName: chance.oneOf(['shared', 'a']) })],
      [1, () => users.groups.set(name, { updateStrategy: { type: 'OnDelete' } })],
      [1, () => users.groups.set(name, { updateStrategy: { maxUnavailable: chance.oneOf([2, '50%']) } })],
    ]);
  }

  /** Changes a worker of a group by hand. */
  #meddle(worker: string): void {
    const { users, invariants, chance, hold } = this.#options;
    chance.doOneOf([
      [2, () => hold(worker)],
      [1, () => invariants.byPerson(() => users.setPowerState(worker, 'Stopped'))],
      [1, () => invariants.byPerson(() => users.release(worker))],
      [1, () => users.dropFirst(worker)],
    ]);
  }
}
