import type { RawOptions } from '../../src/config.ts';
import type { Chance } from './chance.ts';
import type { Invariants } from './invariants.ts';
import { NAMESPACE, type SimulatedWorld } from './world.ts';

/** Where other people live, who rent by the same account. */
export const OTHER_NAMESPACE = 'other';

export interface InstallerOptions {
  readonly world: SimulatedWorld;
  readonly invariants: Invariants;
  readonly chance: Chance;
  /**
   * Whether it may come to watch some namespaces only, where objects stand in more. Not where accounts are deleted: one
   * goes although an object needs it that is not seen.
   */
  readonly mayNarrow: boolean;
}

/** Who installs the operator, and installs it anew with other flags. */
export class Installer {
  readonly #options: InstallerOptions;
  /** What it was first installed with. */
  readonly #usual: RawOptions;

  constructor(options: InstallerOptions) {
    this.#options = options;
    this.#usual = options.world.flags;
  }

  /** Installs it anew: mostly a flag or two differ from what is usual. */
  act(): void {
    const { chance, mayNarrow } = this.#options;
    this.#install({
      ...this.#usual,
      ...(chance.isWithin(0.8) && this.#anyFlag()),
      ...(chance.isWithin(0.3) && this.#anyFlag()),
      ...(mayNarrow && chance.isWithin(0.6) && { watchNamespace: this.#anyScope() }),
    });
  }

  /** As a person leaves it in the end. */
  settle(): void {
    if (this.#options.world.flags !== this.#usual) this.#install(this.#usual);
  }

  #install(flags: RawOptions): void {
    const { world, invariants } = this.#options;
    world.reinstall(flags);
    invariants.installed();
  }

  /** None is shorter than what the faults of a schedule take. */
  #anyFlag(): RawOptions {
    const { chance } = this.#options;
    const flags: readonly [RawOptions, ...RawOptions[]] = [
      { maxRentalsPerHour: String(chance.upTo(6)) },
      { maxLiveMachines: String(chance.upTo(4)) },
      { maxDollarsPerHour: chance.oneOf(['0.40', '1']) },
      { listLag: chance.oneOf(['90s', '2m']) },
      { lateCall: '3m' },
      { goneSpacing: chance.oneOf(['1s', '40s']) },
      { orphanAge: '2m' },
      { minPollInterval: chance.oneOf(['1s', '25s']) },
      { keyCheckInterval: chance.oneOf(['5s', '3m']) },
      { gpuInstanceWorkers: '1', endpointGroupWorkers: '1' },
      { leaderElectLeaseDuration: '40s', leaderElectRenewDeadline: '30s', leaderElectRetryPeriod: '8s' },
      { pacing: 'off' },
    ];
    return chance.oneOf(flags);
  }

  #anyScope(): readonly string[] {
    const { chance } = this.#options;
    return chance.oneOf([[NAMESPACE], [NAMESPACE, OTHER_NAMESPACE], [OTHER_NAMESPACE]]);
  }
}
