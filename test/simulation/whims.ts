import type { Random } from '../../src/lib/random.ts';
import { AccountWhims } from './account-whims.ts';
import { Chance } from './chance.ts';
import { GroupWhims } from './group-whims.ts';
import { OTHER_NAMESPACE } from './installer.ts';
import type { Invariants } from './invariants.ts';
import type { JsonObject } from './memory-kube/json.ts';
import { AT_ANY_PRICE, BY_BID } from './specs.ts';
import { TakeoverWhims } from './takeover-whims.ts';
import type { Users } from './users.ts';
import type { SimulatedWorld } from './world.ts';

export interface WhimsOptions {
  readonly world: SimulatedWorld;
  readonly users: Users;
  readonly invariants: Invariants;
  readonly random: Random;
  readonly hasGroup: boolean;
  /** True if other tenants in another namespace rent with the same account. */
  readonly hasFar: boolean;
  /** True if there are two accounts. */
  readonly hasSecond: boolean;
  /** True if machines recover while the breaker has its usual settings. */
  readonly keepsBreaker: boolean;
  /** True if groups leave the price of their workers to the account. */
  readonly leavesPrice: boolean;
  /** True if a sweeper repairs manual edits of finalizers and status. */
  readonly isSwept: boolean;
  /** Number of objects at the start; later ones are numbered from there. */
  readonly created: number;
}

const HURRY_MS = 8_000;
const MAX_TAKEN_MS = 120_000;
/** More instances that stand alone are not made. */
const MAX_INSTANCES = 4;

/** Random actions of users on their objects, drawn from a seed. */
export class Whims {
  readonly #options: WhimsOptions;
  readonly #chance: Chance;
  readonly #ofAccount: AccountWhims;
  readonly #ofGroups: GroupWhims;
  readonly #takeovers: TakeoverWhims;
  readonly #paused = new Set<string>();
  /** Objects whose restraints may keep them from a machine. */
  readonly #restrained = new Set<string>();
  readonly #takenNames = new Set<string>();
  readonly #backups = new Map<string, JsonObject>();
  #created: number;
  #haveLeft = false;

  constructor(options: WhimsOptions) {
    const { world, users, invariants, random, isSwept, hasFar, hasSecond, keepsBreaker, leavesPrice } =
      options;
    const chance = new Chance(random);
    this.#options = options;
    this.#chance = chance;
    this.#created = options.created;
    this.#ofAccount = new AccountWhims({
      ...{ users, invariants, chance, isSwept, hasFar, hasSecond, keepsBreaker, leavesPrice },
    });
    this.#takeovers = new TakeoverWhims({
      ...{ users, invariants, chance },
      later: (ms, act) => this.#later(ms, act),
    });
    this.#ofGroups = new GroupWhims({
      ...{ users, invariants, chance },
      later: (ms, act) => this.#later(ms, act),
      hold: (name) => this.#hold(name),
      anyImage: () => this.#anyImage(),
      hasGateway: world.gateway !== undefined,
    });
  }

  /** Performs one random action. */
  act(): void {
    if (this.#haveLeft) return;
    if (this.#chance.isWithin(0.1)) this.#ofAccount.act();
    else if (this.#options.hasGroup && this.#chance.isWithin(0.4)) this.#ofGroups.act();
    else this.#actOnInstance();
  }

  #actOnInstance(): void {
    const { users } = this.#options;
    const name = users.anyName();
    if (name === undefined) {
      this.#create();
      return;
    }
    this.#chance.doOneOf([
      [20, () => this.#create()],
      [30, () => users.delete(name)],
      [10, () => users.setPowerState(name, this.#chance.oneOf(['Stopped', 'Running']))],
      [10, () => users.setImage(name, this.#anyImage())],
      [5, () => this.#pause(name)],
      [5, () => this.#resume()],
      [3, () => users.pollNow(name)],
      [6, () => this.#tune(name)],
      [5, () => users.askForAnother(name)],
      [8, () => this.#hurry(name)],
      [4, () => this.#takeovers.passOn(name, this.#anyName())],
      [4, () => this.#stopInConsole(users.machineOf(name))],
      [3, () => users.setDeletionPolicy(name, this.#chance.oneOf(['Destroy', 'Stop', 'Retain']))],
      [15, () => this.#restrain(name)],
      [13, () => this.#editByHand(name)],
    ]);
  }

  /** Performs one hostile action: of a tenant in another namespace, or of a person with the account's key. */
  actHostile(): void {
    if (!this.#haveLeft) this.#ofAccount.actHostile();
  }

  /** Stops all actions from now on. */
  leave(): void {
    this.#haveLeft = true;
  }

  /** Completes whatever users left half done. */
  settle(): void {
    this.leave();
    for (const name of this.#paused) this.#options.users.setPaused(name, false);
    for (const name of this.#restrained) this.#options.users.liftPolicies(name);
    for (const name of this.#takenNames) this.#options.users.freeName(name);
    this.#options.users.createWork();
    this.#ofGroups.settle();
    this.#ofAccount.settle();
  }

  /** Returns a name; half of the time one that existed before. */
  #anyName(): string {
    this.#created += 1;
    const fresh = `n${this.#created}`;
    const former = this.#chance.oneOf(['a', `n${this.#chance.upTo(this.#created)}`]);
    const own = this.#chance.oneOf([fresh, former]);
    const isFar = this.#options.hasFar && this.#chance.isWithin(0.4);
    return isFar ? `${own}.${OTHER_NAMESPACE}` : own;
  }

  #create(): void {
    const { users } = this.#options;
    if (users.names().length >= MAX_INSTANCES) return;
    const name = this.#anyName();
    const isOfSecond = this.#options.hasSecond && this.#chance.isWithin(0.5);
    this.#chance.doOneOf([
      [8, () => users.createInstance(name, { isOfSecond })],
      [1, () => users.createInstance(name, { offers: BY_BID, isOfSecond })],
      [2, () => this.#takeovers.create(name)],
      [1, () => this.#createBesideTakenName(name)],
    ]);
  }

  /** Creates an object whose connection Secret's name is taken for a while. */
  #createBesideTakenName(name: string): void {
    const { users } = this.#options;
    users.takeName(name);
    this.#takenNames.add(name);
    users.createInstance(name, {});
    this.#later(this.#chance.below(MAX_TAKEN_MS), () => users.freeName(name));
  }

  /** Performs several actions on an object within seconds, for example while it replaces its machine. */
  #hurry(name: string): void {
    const { users } = this.#options;
    const acts: readonly [() => void, ...(() => void)[]] = [
      () => users.setPowerState(name, this.#chance.oneOf(['Stopped', 'Running'])),
      () => users.askForAnother(name),
      () => users.setImage(name, this.#anyImage()),
      () => this.#hold(name),
      () => this.#pause(name),
      () => this.#resume(),
      () => users.delete(name),
    ];
    for (let count = 0; count < 3; count += 1)
      this.#later(this.#chance.below(HURRY_MS), this.#chance.oneOf(acts));
  }

  /** Unless everybody has left by then. */
  #later(ms: number, act: () => void): void {
    this.#options.world.scheduler.after(ms, () => {
      if (!this.#haveLeft) act();
    });
  }

  #pause(name: string): void {
    this.#options.users.setPaused(name, true);
    this.#paused.add(name);
  }

  /** Removes the restraints that keep an object from its desired state. */
  #resume(): void {
    const { users } = this.#options;
    for (const name of this.#paused) users.setPaused(name, false);
    for (const name of this.#restrained) users.liftPolicies(name);
    this.#paused.clear();
    this.#restrained.clear();
  }

  /** Changes price limits, timeouts and tolerances. */
  #tune(name: string): void {
    const { users } = this.#options;
    this.#restrained.add(name);
    this.#chance.doOneOf([
      [2, () => users.setCeiling(name, this.#chance.oneOf(['0.20', '0.34', '0.90']))],
      [2, () => users.setPolicies(name, { onPriceAbove: 'Replace' })],
      [2, () => users.setTolerance(name, this.#chance.oneOf(['10s', '3m']))],
      [1, () => users.setPolicies(name, { timeouts: { provisioning: '20s', loading: '40s', start: '20s' } })],
      [2, () => users.setPolicies(name, { maxLifetime: '12h', maxTotalCost: '50' })],
      [2, () => users.takeEnv(name)],
      [2, () => users.setPolicies(name, { offers: AT_ANY_PRICE })],
      [1, () => users.removeWork()],
    ]);
  }

  /** Stops a machine in the console, unless it is a foreign one whose ID a person wrote into a status. */
  #stopInConsole(machine: number | undefined): void {
    const { users, invariants } = this.#options;
    if (machine !== undefined && !invariants.isForeign(machine)) void users.console.stop(machine);
  }

  /** Edits what only a sweeper can repair, so only if there is one. */
  #editByHand(name: string): void {
    const { users, invariants, isSwept } = this.#options;
    if (!isSwept) return;
    const backup = this.#backups.get(name);
    this.#backups.set(name, users.backup(name));
    invariants.markHandled(name);
    this.#chance.doOneOf([
      [25, () => users.removeFinalizers(name)],
      [10, () => users.removeIntent(name)],
      [25, () => users.editStatus(name, this.#anyMachine())],
      [20, () => backup && users.restore(name, backup)],
      [20, () => this.#relabel(users.machineOf(name))],
    ]);
  }

  /** Changes a machine's label in the console. */
  #relabel(machine: number | undefined): void {
    if (machine === undefined) return;
    this.#options.invariants.labelledElsewhere(machine);
    void this.#options.users.console.label(machine, 'renamed');
  }

  /** Returns any machine, or an ID that never existed. */
  #anyMachine(): number {
    const ids = this.#options.users.console.machines();
    return ids[this.#chance.below(ids.length + 1)] ?? 1;
  }

  #hold(name: string): void {
    this.#restrained.add(name);
    this.#options.users.hold(name);
  }

  #restrain(name: string): void {
    const { users } = this.#options;
    this.#restrained.add(name);
    this.#chance.doOneOf([
      [4, () => this.#hold(name)],
      [2, () => users.setPolicies(name, { maxLifetime: this.#chance.oneOf(['2m', '5m']) })],
      [1, () => users.setPolicies(name, { maxTotalCost: '0.01' })],
      [2, () => users.setPolicies(name, { onVanish: 'Hold' })],
      [3, () => users.setPolicies(name, { updateStrategy: { type: 'OnDelete' } })],
      [3, () => users.setPolicies(name, { replacement: { maxPerHour: 5, policy: 'Never' } })],
    ]);
  }

  #anyImage(): string {
    return `example/work:${this.#chance.upTo(3)}`;
  }
}
