import type { Simulator } from '../../src/simulator/simulator.ts';
import type { Contract } from '../../src/simulator/tables/contracts.ts';
import { rowsOf } from '../../src/simulator/world/world-store.ts';

/** Fault of a container on an offer's machine. `error`: it runs, and reports that text. */
export type Fault = { readonly type: 'silent' } | { readonly type: 'error'; readonly text: string };

/** Simulator that has the machines when a probe needs them. */
interface Market {
  readonly market: Simulator;
}

/** Containers on machines: they serve unless a story changes that. */
export class Containers {
  readonly #world: Market;
  readonly #faults = new Map<number, Fault>();
  /** Fault of the image itself, on every machine. */
  #imageFault: Fault | undefined;

  constructor(world: Market) {
    this.#world = world;
  }

  /** Applies a fault to every container on that offer's machine from now on. */
  spoil(offerId: number, fault: Fault): void {
    this.#faults.set(offerId, fault);
  }

  /** Applies a fault to every container from now on: replacing the machine does not help. */
  spoilImage(fault: Fault): void {
    this.#imageFault = fault;
  }

  get isImageBroken(): boolean {
    return this.#imageFault !== undefined;
  }

  faultOf({ offerId, notes }: Pick<Contract, 'offerId' | 'notes'>): Fault | undefined {
    if (notes['portsTaken'] === true) return { type: 'silent' };
    return this.#imageFault ?? this.#faults.get(offerId);
  }

  /** Returns the fault of the container behind a public port. */
  faultAt(port: number): Fault | undefined {
    const contract = rowsOf(this.#world.market.store.current().tables.contracts).find(({ ports }) =>
      Object.values(ports).includes(port),
    );
    return contract && this.faultOf(contract);
  }
}
