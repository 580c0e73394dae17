import type { TransportRequest } from '../../../src/lib/transport.ts';
import type { Machine } from '../machine.ts';
import type { JsonObject } from '../memory-kube/json.ts';
import type { Purchase } from './purchase.ts';
import type { Scene } from './scene.ts';
import { startedMachine } from './sent-start.ts';

/** A rule about calls that spend by an account. */
interface SpendingRule {
  /** Records a rental or start for the object by a process that may know the account. */
  spends(object: JsonObject, what: string): void;
}

/** Calls that spend by an account: rentals, and starts, which make a machine cost more. */
export class SpendingWatch {
  readonly #scene: Scene;
  readonly #rules: readonly SpendingRule[];
  readonly #blindUntil = new WeakMap<Machine, number>();

  constructor(scene: Scene, rules: readonly SpendingRule[]) {
    this.#scene = scene;
    this.#rules = rules;
  }

  /** Records that a process may not know accounts until then. */
  blind(machine: Machine, until: number): void {
    this.#blindUntil.set(machine, until);
  }

  /** Records a sent rent call. */
  rentSent(machine: Machine, { uid }: Purchase): void {
    this.#spends(machine, this.#scene.objects.get(uid), 'rents');
  }

  /** Records a sent call. */
  sent(machine: Machine, request: TransportRequest): void {
    const contract = this.#scene.contracts()[startedMachine(request) ?? Number.NaN];
    if (contract) this.#spends(machine, this.#scene.ownerOf(contract), 'starts a machine');
  }

  #spends(machine: Machine, object: JsonObject | undefined, what: string): void {
    if (!object || this.#scene.now < (this.#blindUntil.get(machine) ?? 0)) return;
    for (const rule of this.#rules) rule.spends(object, what);
  }
}
