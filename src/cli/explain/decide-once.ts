import type { AccountSession } from '../../accounts/session.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { deriveFacts } from '../../controllers/gpu-instance/facts.ts';
import { MachineIndex, ObjectMemory, SteadyClock } from '../../controllers/gpu-instance/memory.ts';
import { machineIndexes, observe, type ObserveDeps } from '../../controllers/gpu-instance/observe.ts';
import { decideWithReads, readerOf, withPresentTime } from '../../controllers/gpu-instance/reads.ts';
import { classify, type Stage } from '../../controllers/gpu-instance/stage.ts';
import type { Decision, Observed } from '../../controllers/gpu-instance/types.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { systemRandom } from '../../lib/random.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { objectKey, uidOf } from '../../runtime/kube/kube-object.ts';
import type { Informer } from '../../runtime/list-watch/informer.ts';
import { lasting } from '../limits.ts';

/** What the operator would do with an object now, if it had seen what was seen here. */
export interface Explained {
  readonly stage: Stage;
  readonly decision: Decision;
  /** What the rule asked to see on the way, e.g. `offers`. */
  readonly looks: readonly string[];
}

/** Runs the operator's own observe and decide on one object. Nothing is recorded and nothing is done. */
export async function decideOnce(
  object: GpuInstance,
  parts: {
    readonly session: AccountSession;
    readonly kube: KubeClient;
    readonly others: readonly GpuInstance[];
    /** The times that the operator runs with. */
    readonly constants: PurchaseConstants;
  },
): Promise<Explained> {
  const steady = new SteadyClock(systemClock);
  const list = parts.session.feed.latest();
  if (list) steady.noteList(parts.session.feed, list);
  const memory = new ObjectMemory();
  const lookAt = () => {
    const observed = observe(object, { ...sourcesOf(parts), memory, steady });
    if (!observed) throw new Error('the identity of the installation is not known');
    return lookOn(observed, { ...parts, steady });
  };
  const wished = await lookAt();
  const refusal = refusalOf(wished.decision, object, parts.session);
  if (!refusal) return wished;
  const { reason, message: detail, retryAfterMs } = refusal;
  memory.refusedByAccount(steady.now(), retryAfterMs, { reason, detail });
  const told = await lookAt();
  return { ...told, looks: [...wished.looks, ...told.looks] };
}

interface LookPorts {
  readonly session: AccountSession;
  readonly kube: KubeClient;
  readonly steady: SteadyClock;
}

/** Decides by the operator's own loop. Reads are its reads; nothing is written. */
async function lookOn(first: Observed, { session, kube, steady }: LookPorts): Promise<Explained> {
  const wait = <T>(read: () => Promise<T>) => read();
  const { observed, decision, reads } = await decideWithReads(first, {
    reader: readerOf({ cluster: kube, session, wake() {}, aside: wait, log: silentLogger }),
    refresh: (seen) => withPresentTime(seen, { clock: systemClock, steady, session }),
    publish: async (seen) => asPublished(seen),
  });
  return { stage: classify(deriveFacts(observed)), decision, looks: reads };
}

/** Such a request waits for nothing. */
const NOBODY_WAITS = { namespace: '', generation: 0, wake() {} };

/** What the account would answer to the purchase or start that was decided; undefined where it has room. */
function refusalOf({ record, actions }: Decision, object: GpuInstance, { admission }: AccountSession) {
  const objectUid = uidOf(object);
  const start = actions.find((action) => action.type === 'start');
  if (record.type === 'intent') {
    const { offer, pricePerHour } = record.purchase;
    return lasting(admission.request({ ...NOBODY_WAITS, objectUid, offerId: offer.id, pricePerHour }));
  }
  return (
    start && lasting(admission.requestStart({ objectUid, pricePerHour: start.pricePerHour, timeoutMs: 0 }))
  );
}

/** The children are taken as written: they are the operator's to write. */
function asPublished(observed: Observed): Observed {
  const bindingName = observed.object.status?.binding?.name ?? `${observed.object.metadata.name}-connection`;
  return { ...observed, published: { type: 'done', bindingName } };
}

function sourcesOf({
  session,
  others,
  constants,
}: {
  readonly session: AccountSession;
  readonly others: readonly GpuInstance[];
  readonly constants: PurchaseConstants;
}): Omit<ObserveDeps, 'steady' | 'memory'> {
  return {
    clock: systemClock,
    random: systemRandom,
    instances: listedOnce(others),
    accounts: {
      get: (ref) => {
        const isOurs = ref.namespace === session.ref.namespace && ref.name === session.ref.name;
        return isOurs ? { type: 'ready', session } : { type: 'missing' };
      },
      permits: (_ref, namespace) => session.permits(namespace),
    },
    constants,
    index: new MachineIndex(constants),
    identity: () => session.identity,
    leaseRemainingMs: () => Number.POSITIVE_INFINITY,
    withoutStart: new Set(),
  };
}

/** A cache that was filled by one list and never changes. */
function listedOnce(items: readonly GpuInstance[]): Informer<GpuInstance> {
  const byKey = new Map(items.map((item) => [objectKey(item.metadata), item]));
  return {
    name: 'gpuinstances',
    start() {},
    stop: async () => {},
    synced: Promise.resolve(),
    hasSynced: () => true,
    get: (key) => byKey.get(key),
    list: () => items,
    byIndex: (index, value) => items.filter((item) => machineIndexes[index]?.(item).includes(value) ?? false),
    onChange: () => () => {},
    wrote() {},
    keep: (object) => object as GpuInstance,
    isCurrent: () => true,
    health: () => ({ lastContactAt: undefined, divergences: 0, failure: undefined, rewoundSince: undefined }),
  };
}
