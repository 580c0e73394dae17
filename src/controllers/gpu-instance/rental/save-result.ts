import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../../api/v1alpha1/names.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { refOf } from '../../../runtime/kube/kube-object.ts';
import type { ObjectMemory } from '../memory/memory.ts';
import { keepInstanceKey } from '../publish/publish.ts';
import type { Receipt } from '../receipt.ts';
import { type RecordPorts, record } from '../record.ts';
import { saveRented } from '../rules/rented.ts';
import type { EventNote, Look, Observed } from '../types.ts';
import type { RentedFacts } from '../views.ts';

/** What a rental was decided on, and the object as the intent was written. */
export interface RentalContext {
  readonly observed: Observed;
  readonly receipt: Receipt;
}

export interface SavePorts {
  readonly cluster: KubeClient;
  readonly memory: ObjectMemory;
  readonly clock: Clock;
  readonly log: Logger;
  readonly record: RecordPorts;
  readonly showEvent: (note: EventNote) => void;
}

/** A result that cannot be saved now is saved by the next pass, out of memory or by the label. */
const SAVE_TRIES = 4;

/**
 * Saves the result of a rental and the key of its machine side by side: neither waits for the other. Rejects where
 * the status could not be written; the result stays in memory then.
 */
export async function saveResult(
  context: RentalContext,
  rented: RentedFacts,
  ports: SavePorts,
): Promise<Look> {
  ports.memory.rented = rented;
  ports.memory.succeeded();
  const [look] = await Promise.all([saveStatus(context, rented, ports), saveKey(context, rented, ports)]);
  return look;
}

/** The next write of the object after a rental is its result; tried again on newer versions. */
async function saveStatus(
  { observed, receipt }: RentalContext,
  rented: RentedFacts,
  { cluster, memory, clock, record: recordPorts, showEvent }: SavePorts,
): Promise<Look> {
  let object: GpuInstance | undefined = receipt.object;
  for (let tries = 0; object && tries < SAVE_TRIES; tries++) {
    if ((object.status?.attempt ?? 0) >= rented.attempt) break;
    const now = { ...observed, object, now: clock.now() };
    const decision = saveRented(now, rented);
    const recorded = await record(now, decision, recordPorts);
    if (recorded.type === 'recorded') {
      for (const note of decision.events) showEvent(note);
      memory.rented = undefined;
      return { onList: true };
    }
    object = await cluster.get<GpuInstance>(gpuInstanceResource, refOf(object));
    if (object?.metadata.uid !== observed.uid) object = undefined;
  }
  return { afterMs: 0 };
}

/** A key that cannot be written now is written with the address, out of memory. */
async function saveKey(
  { observed, receipt }: RentalContext,
  rented: RentedFacts,
  { cluster, memory, log }: SavePorts,
): Promise<void> {
  try {
    await keepInstanceKey(receipt.object, rented, { cluster, keys: observed.identity.keys, memory });
  } catch (error) {
    log.warn('The key of the machine is not in its Secret yet', { error });
  }
}
