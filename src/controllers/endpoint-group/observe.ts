import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { loadTypeOf } from '../../api/v1alpha1/load-source.ts';
import { endpointGroupResource } from '../../api/v1alpha1/names.ts';
import { trimmedOf } from '../../api/v1alpha1/trimmed-spec.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import { wholeObject } from '../../runtime/kube/whole-object.ts';
import type { OwnedRead } from '../../runtime/owned-objects.ts';
import { endingForTemplate } from './decide.ts';
import type { Deps } from './deps.ts';
import { notAhead, onlyReporters } from './load/state.ts';
import type { LoadSpeaker } from './load/view.ts';
import type { Observed, TemplateOutlook } from './types.ts';
import { asByTemplate, templateHash } from './workers/template.ts';
import { workerOf } from './workers/worker.ts';

/** Sources of an observation. */
export interface ObserveDeps
  extends Pick<
    Deps,
    | 'clock'
    | 'cluster'
    | 'times'
    | 'memory'
    | 'loadStore'
    | 'isFrozen'
    | 'accountCapOf'
    | 'marketOf'
    | 'allowPrivateAddresses'
    | 'gatewayUrl'
    | 'enqueue'
    | 'aside'
    | 'log'
  > {
  readonly children: Pick<Deps['children'], 'read'>;
  readonly readers: Pick<Deps['readers'], 'read'>;
  readonly identities: Pick<Deps['identities'], 'view'>;
  readonly outlook: Pick<Deps['outlook'], 'ask'>;
}

/** Observation, or `behind` if the cache lacks writes of this process. */
export type Seen =
  | { readonly type: 'seen'; readonly observed: Observed }
  | Extract<OwnedRead<GpuInstance>, { type: 'behind' }>;

type Read = Extract<OwnedRead<GpuInstance>, { type: 'known' }>;

/** Resolves with the input of one reconcile. Reads the load if a tick is due. Rejects with a KubeError. */
export async function observe(group: EndpointGroup, deps: ObserveDeps): Promise<Seen> {
  const read = await deps.children.read(group);
  if (read.type === 'behind') return read;
  const { clock, times, memory } = deps;
  const beganAt = clock.now();
  const isTick = memory.isDue(group, beganAt, times.tickMs);
  if (isTick) await readLoad(group, read, deps);
  const observed = observedNow(group, { read, beganAt, isTick }, deps);
  const workers = { ...observed.workers, outlook: await outlookFor(observed, deps) };
  return { type: 'seen', observed: { ...observed, workers } };
}

interface Pass {
  readonly read: Read;
  readonly beganAt: number;
  readonly isTick: boolean;
}

function observedNow(group: EndpointGroup, { read, beganAt, isTick }: Pass, deps: ObserveDeps): Observed {
  const { clock, times, memory, loadStore, isFrozen, allowPrivateAddresses, gatewayUrl } = deps;
  const { publisher } = memory;
  const { children, orphans, takenNames } = read;
  const now = clock.now();
  return {
    group,
    workers: { all: children.map((child) => workerOf(child, now)), orphans, takenNames },
    load: {
      state: loadStore.get(uidOf(group)),
      source: sourceOf(group),
      hasLateFigures: memory.lateFigures.see() && !isTick,
      wakeAsked: memory.wake.see(),
    },
    account: {
      frozen: new Set(children.filter(isFrozen).map(({ metadata }) => metadata.uid ?? '')),
      cap: deps.accountCapOf(group),
      market: deps.marketOf?.(group),
    },
    publication: {
      ...{ allowPrivateAddresses, gatewayUrl },
      service: publisher.published(),
      file: publisher.file.published(),
      identity: deps.identities.view(group),
    },
    clock: { now, beganAt, isTick, times },
    memory: memory.fields,
    refused: memory.refused,
  };
}

async function readLoad(group: EndpointGroup, { children }: Read, deps: ObserveDeps): Promise<void> {
  const { clock, times, memory, loadStore, readers, enqueue } = deps;
  const workers = children.map((child) => workerOf(child, clock.now()));
  const onLate = () => {
    memory.lateFigures.ask();
    enqueue();
  };
  await readers.read(group, { workers, onLate });
  const uid = uidOf(group);
  const loadState = notAhead(loadStore.get(uid), clock.now(), times);
  const existing = new Set(workers.map(({ reporter }) => reporter));
  loadStore.put(uid, sourceOf(group) === 'workers' ? onlyReporters(loadState, existing) : loadState);
}

/** Reporter of the load by the type of its source. */
const SPEAKERS = {
  Static: 'group',
  Prometheus: 'group',
  HTTPPull: 'workers',
  Push: 'workers',
  Gateway: 'gateway',
} as const satisfies Record<ReturnType<typeof loadTypeOf>, LoadSpeaker>;

function sourceOf({ spec }: EndpointGroup): LoadSpeaker {
  return SPEAKERS[loadTypeOf(spec)];
}

/** Resolves with the outlook for workers that the template would replace; undefined without a search if there are none. */
async function outlookFor(observed: Observed, deps: ObserveDeps): Promise<TemplateOutlook | undefined> {
  const { group } = observed;
  const ending = endingForTemplate(observed);
  if (ending.length === 0) return undefined;
  const { outlook, cluster, enqueue, aside, log } = deps;
  return outlook.ask(
    {
      groupUid: uidOf(group),
      templateHash: templateHash(group),
      account: { metadata: group.metadata, spec: group.spec.template.spec },
      wake: enqueue,
      workers: async () => {
        const whole = await wholeGroup(group, cluster);
        return ending.map(({ object }) => asByTemplate(whole, object));
      },
    },
    { aside, log },
  );
}

/** Resolves with the group and its whole template, which the cache may have trimmed. Rejects with a KubeError. */
export async function wholeGroup(group: EndpointGroup, cluster: KubeClient): Promise<EndpointGroup> {
  const { template } = group.spec;
  if (!trimmedOf(template) && !trimmedOf(template.spec)) return group;
  return wholeObject(cluster, endpointGroupResource, group);
}
