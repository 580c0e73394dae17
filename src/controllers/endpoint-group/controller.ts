import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { Env } from '../../lib/env.ts';
import { parseTime } from '../../lib/rfc3339.ts';
import {
  type Controller,
  createController,
  done,
  type ReconcileContext,
  type Result,
  requeueAfter,
} from '../../runtime/controller.ts';
import type { EventRecorder } from '../../runtime/events.ts';
import type { Informer } from '../../runtime/informer.ts';
import type { KubeClient } from '../../runtime/kube-client.ts';
import { objectKey } from '../../runtime/kube-object.ts';
import type { ControllerMetrics, QueueMetrics } from '../../runtime/metrics-ports.ts';
import { act, type GroupEffects } from './act.ts';
import { decide } from './decide.ts';
import { Families, groupKeysOf } from './families.ts';
import { onlyReporters } from './load/book.ts';
import type { LoadBooks } from './load/books.ts';
import type { LoadReaders } from './load/readers.ts';
import { Publisher } from './publisher.ts';
import { record } from './record.ts';
import type { ScalingTimes } from './scaling-times.ts';
import type { Decision, GroupMemory, Observed } from './types.ts';
import { workerOf } from './worker.ts';

export interface EndpointGroupControllerOptions {
  readonly env: Pick<Env, 'clock' | 'random' | 'log'>;
  readonly cluster: KubeClient;
  readonly groups: Informer<EndpointGroup>;
  readonly instances: Informer<GpuInstance>;
  readonly events: EventRecorder;
  readonly books: LoadBooks;
  readonly readers: LoadReaders;
  readonly times: ScalingTimes;
  readonly allowPrivateAddresses: boolean;
  /** Whether the breaker of a worker's account holds back replacement. */
  readonly isFrozen: (worker: GpuInstance) => boolean;
  readonly blame: GroupEffects['blame'];
  readonly workers?: number | undefined;
  readonly metrics?: (ControllerMetrics & QueueMetrics) | undefined;
}

/** A controller that can be told that a group wants a worker now. */
export interface EndpointGroupController extends Controller {
  wake(group: EndpointGroup): void;
}

/** The cache is told of our own writes within milliseconds; until then a pass would judge the past. */
const CACHE_BEHIND_MS = 20;

/** What one process keeps of one group. */
interface Kept {
  readonly publisher: Publisher;
  memory: GroupMemory | undefined;
  wakeAsked: boolean;
  /** Keys of workers that this process has written and that the cache may not show yet. */
  readonly written: Set<string>;
  /** Of the object that the last tick judged: another one is judged at once. */
  judged: string;
}

/** Keeps as many workers as the load of each group asks for, and publishes those that are ready. Level triggered. */
export function createEndpointGroupController(
  options: EndpointGroupControllerOptions,
): EndpointGroupController {
  const { env, groups, instances, cluster, books } = options;
  const families = new Families(instances);
  const keptByUid = new Map<string, Kept>();

  const keptOf = (group: EndpointGroup): Kept => {
    const uid = group.metadata.uid ?? '';
    const known = keptByUid.get(uid);
    if (known) return known;
    books.open(uid, maximaOf(group));
    const publisher = new Publisher({ cluster, clock: env.clock });
    const kept: Kept = { publisher, memory: undefined, wakeAsked: false, written: new Set(), judged: '' };
    keptByUid.set(uid, kept);
    return kept;
  };

  const observe = async (group: EndpointGroup, kept: Kept): Promise<Observed> => {
    const judged = JSON.stringify([group.metadata.generation, group.metadata.annotations]);
    const isTick = !kept.memory || env.clock.now() >= kept.memory.nextTickAt || judged !== kept.judged;
    kept.judged = judged;
    const uid = group.metadata.uid ?? '';
    const children = families.childrenOf(group);
    const seen = children.map((child) => workerOf(child, env.clock.now()));
    if (isTick) await options.readers.read(group, seen);
    const source = SPEAKS_FOR_ALL.has(group.spec.load.type) ? 'group' : 'workers';
    if (source === 'workers')
      books.put(uid, onlyReporters(books.get(uid), new Set(seen.map(({ reporter }) => reporter))));
    const now = env.clock.now();
    return {
      ...{ now, group, source, isTick },
      workers: children.map((child) => workerOf(child, now)),
      orphans: families.orphansOf(group),
      book: books.get(uid),
      times: options.times,
      memory: kept.memory,
      wakeAsked: kept.wakeAsked,
      frozen: new Set(seen.filter(({ object }) => options.isFrozen(object)).map((worker) => worker.uid)),
      published: kept.publisher.published(),
      allowPrivateAddresses: options.allowPrivateAddresses,
    };
  };

  const carryOut = async (group: EndpointGroup, kept: Kept, decision: Decision): Promise<boolean> => {
    const onWritten = (written: EndpointGroup) => groups.wrote(written);
    const receipt = await record(group, decision, { client: cluster, onWritten });
    if (!receipt) return false;
    kept.memory = decision.memory;
    kept.wakeAsked = false;
    const effects: GroupEffects = {
      cluster,
      publisher: kept.publisher,
      blame: options.blame,
      siblings: families.childrenOf(group),
      onWritten: (worker) => {
        instances.wrote(worker);
        kept.written.add(objectKey(worker.metadata));
      },
    };
    for (const event of decision.events) options.events.record({ regarding: group, ...event });
    for (const action of decision.actions) await act(action, receipt, effects);
    return true;
  };

  const reconcile = async (key: string, context: ReconcileContext): Promise<Result> => {
    const group = groups.get(key);
    if (!group) return done;
    const kept = keptOf(group);
    for (const written of kept.written) if (instances.isCurrent(written)) kept.written.delete(written);
    if (!groups.isCurrent(key) || kept.written.size > 0) return requeueAfter(CACHE_BEHIND_MS);
    const observed = await observe(group, kept);
    const decision = decide(observed);
    if (decision.endpoints) {
      const before = kept.publisher.published();
      const { endpoints } = decision;
      const published = await kept.publisher.publish({ group, workers: observed.workers, endpoints });
      if (published !== before && published.type !== before.type) return requeueAfter(0);
    }
    if (!(await carryOut(group, kept, decision))) return requeueAfter(CACHE_BEHIND_MS);
    if (decision.actions.length > 0) context.log.info('workers changed', summaryOf(decision));
    return requeueAfter(decision.requeueAfterMs);
  };

  const controller = createController({
    ...{ clock: env.clock, random: env.random, log: env.log },
    name: 'endpointgroup',
    workers: options.workers,
    metrics: options.metrics,
    reconcile,
  });
  groups.onChange((change) => {
    controller.queue.add(change.key);
    if (change.type !== 'deleted') return;
    const uid = change.object.metadata.uid ?? '';
    keptByUid.delete(uid);
    books.forget(uid);
  });
  instances.onChange(({ object }) => {
    for (const key of groupKeysOf(object)) if (groups.get(key)) controller.queue.add(key);
  });
  return {
    ...controller,
    wake(group) {
      const kept = keptByUid.get(group.metadata.uid ?? '');
      if (kept) kept.wakeAsked = true;
      controller.queue.add(objectKey(group.metadata));
    },
    start() {
      for (const group of groups.list()) controller.queue.add(objectKey(group.metadata));
      controller.start();
    },
  };
}

/** Sources that know the group and no single worker. */
const SPEAKS_FOR_ALL: ReadonlySet<string> = new Set(['Static', 'Prometheus']);

/** What the status remembers of the load. One that was there at the last write counts as having gone on until now. */
function maximaOf({ status }: EndpointGroup): readonly { readonly at: number; readonly load: number }[] {
  return (status?.loadMaxima ?? []).flatMap(({ at, load }) => {
    const time = parseTime(at);
    return time === undefined ? [] : [{ at: time, load: Number(load) }];
  });
}

function summaryOf({ actions, memory }: Decision): Record<string, unknown> {
  return {
    actions: actions.map((action) => action.type),
    rule: memory.decision?.rule,
    hot: memory.decision?.hot,
    total: memory.decision?.total,
  };
}
