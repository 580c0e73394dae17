import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { idAt, metadataOf } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { isToKeep } from './kept.ts';
import type { Scene } from './scene.ts';

/**
 * Reason why a contract bills for nothing: it has no owner, is not yet on record, is surplus, or its object is being
 * deleted.
 */
export type Waste = 'orphan' | 'unclaimed' | 'surplus' | 'leaving' | Waiting;
/**
 * Waits by design for a person or an hour: its objects were removed in mass, or the service carried the rental out
 * late.
 */
type Waiting = 'removedInMass' | 'lateRental';

const WAITING: ReadonlySet<Waste> = new Set(['removedInMass', 'lateRental'] satisfies Waiting[]);

/** Measures undesired billed time, from change to change. A wait by design is reported as a reason, and not counted. */
export class WasteMeter {
  readonly #scene: Scene;
  readonly #wasted = new Map<number, Map<Waste, number>>();
  #running: readonly (readonly [number, Waste])[] = [];
  #since: number;
  readonly #removedInMass = new Set<string>();

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#since = scene.now;
  }

  /** Objects that are about to be removed by force together. */
  removedInMass(uids: readonly string[]): void {
    for (const uid of uids) this.#removedInMass.add(massKey(uid));
  }

  /** Adds what passed since the last change, and looks at what bills for nothing from now on. */
  changed(): void {
    const passed = this.#scene.now - this.#since;
    this.#since = this.#scene.now;
    if (passed > 0) for (const [id, why] of this.#running) this.#add(id, why, passed);
    this.#running = this.#scene.live().flatMap((contract) => {
      const why = this.#wasteOf(contract);
      return why ? [[contract.id, why] as const] : [];
    });
  }

  /** Returns the wasted milliseconds by contract. */
  perContract(): ReadonlyMap<number, number> {
    this.changed();
    return new Map(
      [...this.#wasted].flatMap(([id, kinds]) => {
        const counted = [...kinds].filter(([why]) => !WAITING.has(why));
        return counted.length === 0 ? [] : [[id, counted.reduce((sum, [, ms]) => sum + ms, 0)] as const];
      }),
    );
  }

  /** Returns the wasted seconds of a contract by kind, for analysis. */
  reasonsOf(id: number): Readonly<Partial<Record<Waste, number>>> {
    const kinds = this.#wasted.get(id) ?? new Map<Waste, number>();
    return Object.fromEntries([...kinds].map(([why, ms]) => [why, ms / 1000]));
  }

  #add(id: number, why: Waste, ms: number): void {
    const kinds = this.#wasted.get(id) ?? new Map<Waste, number>();
    kinds.set(why, (kinds.get(why) ?? 0) + ms);
    this.#wasted.set(id, kinds);
  }

  #wasteOf(contract: Contract): Waste | undefined {
    const purchase = this.#scene.purchaseOf(contract);
    if (!purchase || this.#scene.isKept(contract)) return undefined;
    if (this.#scene.isLateRental(contract)) return 'lateRental';
    const owner = this.#scene.ownerOf(contract);
    if (!owner) return this.#removedInMass.has(massKey(purchase.uid)) ? 'removedInMass' : 'orphan';
    if (metadataOf(owner)['deletionTimestamp'] !== undefined)
      return isToKeep(owner, contract.id) ? undefined : 'leaving';
    const recorded = idAt(statusAt(owner), 'instanceId');
    if (recorded === contract.id) return undefined;
    return this.#scene.contracts()[Number(recorded)] ? 'surplus' : 'unclaimed';
  }
}

/** Returns a key other than the uid, which the test searches in the memory of processes. */
const massKey = (uid: string): string => `removed ${uid}`;
