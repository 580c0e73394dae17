import type { AccountSession } from '../../accounts/account-session.ts';
import { witnessOf } from '../../accounts/blame.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { accountKey, accountRefOf } from '../../instance/account-ref.ts';
import type { Clock } from '../../lib/clock.ts';
import { parseDollars } from '../../lib/money.ts';
import { objectKey } from '../../runtime/kube/kube-object.ts';
import { type Acted, rentedFacts } from './act.ts';
import type { AfterFailure, Failure } from './failure.ts';
import type { ObjectMemory } from './memory/memory.ts';
import type { SteadyClock } from './memory/steady-clock.ts';
import type { GpuInstanceMetrics } from './metrics.ts';
import type { RentalContext } from './rental/save-result.ts';
import type { Action, Look } from './types.ts';
import type { RentedFacts } from './views.ts';

export interface AftermathPorts {
  readonly memory: ObjectMemory;
  readonly clock: Clock;
  readonly steady: SteadyClock;
  readonly session: AccountSession | undefined;
  /** Uids of accounts whose service knows no start. */
  readonly withoutStart: Set<string>;
  readonly metrics: GpuInstanceMetrics;
  readonly saveResult: (context: RentalContext, rented: RentedFacts) => Promise<Look>;
}

/** What this process saves, remembers and counts of actions on one object that were tried. */
export class Aftermath {
  readonly #object: GpuInstance;
  readonly #ports: AftermathPorts;

  constructor(object: GpuInstance, ports: AftermathPorts) {
    this.#object = object;
    this.#ports = ports;
  }

  /** When to look again at the latest; undefined where the next action may follow at once. */
  async of(action: Action, acted: Acted, context: RentalContext): Promise<Look | undefined> {
    const { memory, metrics, saveResult } = this.#ports;
    switch (acted.type) {
      case 'rented':
        metrics.rented(this.#account());
        return saveResult(context, acted.rented);
      case 'failed':
        return this.#failed(action, acted, context);
      case 'withdrawn':
        return { afterMs: 0 };
      case 'done':
        if (action.type !== 'destroy') memory.succeeded();
        else metrics.destroyFailing(this.#key(), 0);
        return undefined;
    }
  }

  async #failed(
    action: Action,
    { after, failure }: { readonly after: AfterFailure; readonly failure: Failure },
    context: RentalContext,
  ): Promise<Look> {
    const { memory, metrics, clock, saveResult } = this.#ports;
    if (action.type === 'rent') metrics.rentalFailed(this.#account(), failure.kind);
    switch (after.type) {
      case 'settle':
        return { afterMs: 0 };
      case 'retry':
        if (action.type === 'rent') memory.refused = action.purchase;
        return action.type === 'destroy' ? this.#destroyFailed(after) : this.#retry(after, failure);
      case 'rented': {
        if (action.type !== 'rent') return { afterMs: 0 };
        metrics.rented(this.#account());
        return saveResult(context, rentedFacts(action.purchase, after.instanceId, clock.now()));
      }
    }
  }

  #retry(after: Extract<AfterFailure, { type: 'retry' }>, { kind }: Failure): Look {
    const { memory, steady, session, withoutStart } = this.#ports;
    // That an offer is taken is a fact; that it was refused may be the fault of what was asked for.
    const witness = kind === 'offerGone' ? undefined : witnessOf(this.#object, kind);
    if (after.avoid) session?.avoid.add(after.avoid, kind, witness);
    if (after.unsupported && session) withoutStart.add(session.uid);
    const { afterMs, refusal } = after;
    const now = steady.now();
    if (kind === 'refused' && refusal) memory.refusedByAccount(now, afterMs, refusal);
    else if (afterMs > 0) memory.backOff(now, afterMs, refusal);
    return { afterMs: refusal ? 0 : afterMs };
  }

  #destroyFailed({ afterMs }: Extract<AfterFailure, { type: 'retry' }>): Look {
    const { memory, metrics, steady } = this.#ports;
    memory.destroyFailed(steady.now(), afterMs);
    metrics.destroyFailing(this.#key(), parseDollars(this.#object.status?.cost?.pricePerHour) ?? 0);
    return { afterMs };
  }

  #key(): string {
    return objectKey(this.#object.metadata);
  }

  #account(): string {
    return accountKey(accountRefOf(this.#object));
  }
}
