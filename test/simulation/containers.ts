import type { Simulator } from '../../src/simulator/simulator.ts';
import type { Contract } from '../../src/simulator/tables/contracts.ts';
import { rowsOf } from '../../src/simulator/world/world-store.ts';

/** What a container on the machine of an offer is good for. `text`: it runs, and reports that error. */
export type Fault = { readonly type: 'silent' } | { readonly type: 'error'; readonly text: string };

/** Where the machines are, by the time they are asked for. */
interface Market {
  readonly market: Simulator;
}

/** What runs on machines: it serves, unless a story says otherwise. */
export class Containers {
  readonly #world: Market;
  readonly #faults = new Map<number, Fault>();
  /** What the image brings with it wherever it runs. */
  #imageFault: Fault | undefined;

  constructor(world: Market) {
    this.#world = world;
  }

  /** From now on for every container on the machine of that offer. */
  spoil(offerId: number, fault: Fault): void {
    this.#faults.set(offerId, fault);
  }

  /** From now on everywhere: no other machine helps. */
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

  /** Of the container behind a public port. */
  faultAt(port: number): Fault | undefined {
    const contract = rowsOf(this.#world.market.store.current().tables.contracts).find(({ ports }) =>
      Object.values(ports).includes(port),
    );
    return contract && this.faultOf(contract);
  }
}
