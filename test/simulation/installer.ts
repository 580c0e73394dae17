import type { RawOptions } from '../../src/config.ts';
import type { Chance } from './chance.ts';
import type { Invariants } from './invariants.ts';
import { NAMESPACE, type SimulatedWorld } from './world.ts';

/** Namespace of other tenants of the same account. */
export const OTHER_NAMESPACE = 'other';

export interface InstallerOptions {
  readonly world: SimulatedWorld;
  readonly invariants: Invariants;
  readonly chance: Chance;
  /**
   * True if the operator may be restricted to some namespaces while objects exist in others. False if accounts are
   * deleted: an account would be removed although an unseen object needs it.
   */
  readonly mayNarrow: boolean;
}

/** Person who installs the operator and reinstalls it with other flags. */
export class Installer {
  readonly #options: InstallerOptions;
  /** Flags of the first installation. */
  readonly #usual: RawOptions;

  constructor(options: InstallerOptions) {
    this.#options = options;
    this.#usual = options.world.flags;
  }

  /** Reinstalls the operator, usually with one or two flags changed. */
  act(): void {
    const { chance, mayNarrow } = this.#options;
    this.#install({
      ...this.#usual,
      ...(chance.isWithin(0.8) && this.#anyFlag()),
      ...(chance.isWithin(0.3) && this.#anyFlag()),
      ...(mayNarrow && chance.isWithin(0.6) && { watchNamespace: this.#anyScope() }),
    });
  }

  /** Restores the usual flags. */
  settle(): void {
    if (this.#options.world.flags !== this.#usual) this.#install(this.#usual);
  }

  #install(flags: RawOptions): void {
    const { world, invariants } = this.#options;
    world.reinstall(flags);
    invariants.installed();
  }

  /** Returns random flags. No duration is shorter than the faults of a schedule. */
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
