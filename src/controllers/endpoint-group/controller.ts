import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { loadTypeOf } from '../../api/v1alpha1/load-source.ts';
import { endpointGroupResource, GROUP_FINALIZER, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import type { Env } from '../../lib/env.ts';
import { sameJson } from '../../lib/json.ts';
import type { MicroDollars } from '../../lib/money.ts';
import {
  type Controller,
  conflict,
  type ReconcileContext,
  type Result,
  requeueAfter,
} from '../../runtime/controller.ts';
import type { EventRecorder } from '../../runtime/events.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { objectKey, uidOf } from '../../runtime/kube/kube-object.ts';
import type { Informer } from '../../runtime/list-watch/informer.ts';
import type { ControllerMetrics, QueueMetrics } from '../../runtime/metrics-ports.ts';
import { createObjectController } from '../../runtime/object-controller.ts';
import { OwnedObjects, type OwnedRead, ownerKeysOf } from '../../runtime/owned-objects.ts';
import { type Receipt, record } from '../../runtime/writes.ts';
import { act, execute, type GroupEffects, type Outcome, wholeGroup } from './act.ts';
import { blockEvents, changesBy, eventsFor, startEvents } from './actions.ts';
import { decide, endingForTemplate, identityRefusal } from './decide.ts';
import { GroupState, recordedMaxima } from './group-state.ts';
import type { GroupIdentities } from './identity/identities.ts';
import type { LoadSources } from './load/sources.ts';
import { type LoadStore, notAhead, onlyReporters } from './load/state.ts';
import type { LoadSpeaker } from './load/view.ts';
import { Publisher } from './publish/publisher.ts';
import { problemOf } from './publish/service.ts';
import { refusalEvents, serviceEvents } from './service-events.ts';
import type { ScalingTimes } from './times.ts';
import type { Decision, Observed, PublishedFile, TemplateOutlook } from './types.ts';
import { asByTemplate, templateHash } from './workers/template.ts';
import { OWNED_BY_GROUP, workerOf } from './workers/worker.ts';

export interface EndpointGroupControllerOptions {
  readonly env: Pick<Env, 'clock' | 'random' | 'log'>;
  readonly cluster: KubeClient;
  readonly groups: Informer<EndpointGroup>;
  readonly instances: Informer<GpuInstance>;
  readonly events: EventRecorder;
  readonly loadStore: LoadStore;
  readonly readers: LoadSources;
  readonly times: ScalingTimes;
  readonly allowPrivateAddresses: boolean;
  readonly identities: GroupIdentities;
  /** Where clients reach the gateway. */
  readonly gatewayUrl?: string | undefined;
  /** Whether this process holds the lease for long enough to act. */
  readonly isLeading: () => boolean;
  /** Whether the breaker of a worker's account holds back replacement. */
  readonly isFrozen: (worker: GpuInstance) => boolean;
  readonly reportHostFailure: GroupEffects['reportHostFailure'];
  /** Whether other machines can be rented for workers that would end for the template. */
  readonly outlook: {
    ask(request: OutlookRequest, own: Pick<ReconcileContext, 'aside' | 'log'>): Promise<TemplateOutlook>;
    forget(groupUid: string): void;
  };
  /** The most that one machine of a group may cost by its account; undefined if it does not say, or is not known. */
  readonly accountCapOf: (group: EndpointGroup) => MicroDollars | undefined;
  readonly workers?: number | undefined;
  readonly metrics?: (ControllerMetrics & QueueMetrics) | undefined;
}

/** Workers that would end for the template, as that would have them. */
interface OutlookRequest {
  readonly groupUid: string;
  readonly templateHash: string;
  readonly workers: () => Promise<readonly GpuInstance[]>;
  readonly account: Pick<GpuInstance, 'metadata' | 'spec'>;
  readonly wake: () => void;
}

/** Controller that accepts requests for a worker at once, by group. */
export interface EndpointGroupController extends Controller {
  wake(group: EndpointGroup): void;
}

/** The desired state changed while the actions were carried out, or another process leads. */
const CUT_RETRY_MS = 20;
const NOT_LEADING_RETRY_MS = 1_000;

/** Keeps as many workers as the load of each group asks for, and publishes those that are ready. Level triggered. */
export function createEndpointGroupController(
  options: EndpointGroupControllerOptions,
): EndpointGroupController {
  const { env, groups, instances } = options;
  const loop = new GroupLoop(options, (key) => controller.enqueue(key));
  const controller = createObjectController<EndpointGroup>({
    ...{ clock: env.clock, random: env.random, log: env.log },
    name: 'endpointgroup',
    workers: options.workers,
    metrics: options.metrics,
    informer: groups,
    client: options.cluster,
    resource: endpointGroupResource,
    reconcile: (group, context) => loop.reconcile(group, context),
    onDeleted: (group) => loop.forget(group),
  });
  instances.onChange(({ object }) => loop.onWorkerEvent(object));
  return { ...controller, wake: (group) => loop.wake(group) };
}

/** A group and its workers as one pass goes by them. */
interface Snapshot {
  readonly group: EndpointGroup;
  readonly kept: GroupState;
  readonly read: Extract<OwnedRead<GpuInstance>, { type: 'known' }>;
}

/** What passes share, and what enqueues which group. */
class GroupLoop {
  readonly #options: EndpointGroupControllerOptions;
  readonly #enqueue: (key: string) => void;
  readonly #children: OwnedObjects<EndpointGroup, GpuInstance>;
  readonly #keptByUid = new Map<string, GroupState>();

  constructor(options: EndpointGroupControllerOptions, enqueue: (key: string) => void) {
    const { env, cluster: client, instances } = options;
    this.#options = options;
    this.#enqueue = enqueue;
    this.#children = new OwnedObjects({
      ...{ informer: instances, client, clock: env.clock },
      ...{ resource: gpuInstanceResource, by: OWNED_BY_GROUP },
    });
  }

  forget(group: EndpointGroup): void {
    const uid = uidOf(group);
    this.#keptByUid.delete(uid);
    this.#options.loadStore.forget(uid);
    this.#options.identities.forget(uid);
    this.#options.outlook.forget(uid);
    this.#children.forget(uid);
  }

  onWorkerEvent(worker: GpuInstance): void {
    for (const key of ownerKeysOf(worker, OWNED_BY_GROUP))
      if (this.#options.groups.get(key)) this.#enqueue(key);
  }

  /** Work is there. Where a worker is hot already, that is only noted: a flood of wakes costs no pass. */
  wake(group: EndpointGroup): void {
    const kept = this.#keptOf(group);
    const { loadStore, env } = this.#options;
    loadStore.active(uidOf(group), env.clock.now());
    if ((kept.memory?.decision?.hot ?? 0) > 0) return;
    kept.wake.ask();
    this.#enqueue(objectKey(group.metadata));
  }

  async reconcile(group: EndpointGroup, context: ReconcileContext): Promise<Result> {
    const { log } = context;
    if (!this.#options.isLeading()) return requeueAfter(NOT_LEADING_RETRY_MS);
    const read = await this.#children.read(group);
    if (read.type === 'behind') return requeueAfter(read.afterMs);
    const snapshot: Snapshot = { group, read, kept: this.#keptOf(group) };
    const observed = await this.#withOutlook(await this.#observe(snapshot), context);
    const decision = decide(observed);
    if (await this.#publish(snapshot, observed, decision)) return requeueAfter(0);
    const receipt = await this.#record(snapshot, decision);
    if (!receipt) return conflict();
    const problem = this.#options.identities.keep(group, () => this.#enqueue(objectKey(group.metadata)));
    const outcome = await this.#execute(snapshot, decision, receipt);
    if (outcome.done.length > 0) log.info('workers changed', summaryOf(decision, outcome));
    const refused = [...outcome.refused, ...(problem === undefined ? [] : [identityRefusal(problem)])];
    const haveRefusalsChanged = this.#emitEvents(snapshot, decision, { ...outcome, refused }, log);
    if (outcome.failures.length > 0) throw outcome.failures[0];
    if (outcome.isCut) return requeueAfter(CUT_RETRY_MS);
    return requeueAfter(haveRefusalsChanged ? 0 : decision.requeueAfterMs);
  }

  #keptOf(group: EndpointGroup): GroupState {
    const uid = uidOf(group);
    const known = this.#keptByUid.get(uid);
    if (known) return known;
    const { loadStore, cluster, env } = this.#options;
    loadStore.open(uid, recordedMaxima(group, env.clock.now()));
    const kept = new GroupState(new Publisher({ cluster, clock: env.clock }));
    this.#keptByUid.set(uid, kept);
    return kept;
  }

  async #observe({ group, kept, read }: Snapshot): Promise<Observed> {
    const { env, times, isFrozen, allowPrivateAddresses, gatewayUrl } = this.#options;
    const beganAt = env.clock.now();
    const isTick = kept.isDue(group, beganAt, times.tickMs);
    if (isTick) await this.#readLoad({ group, kept, read });
    const now = env.clock.now();
    const hasLateFigures = kept.lateFigures.see() && !isTick;
    return {
      ...{ now, beganAt, group, isTick, hasLateFigures, times, allowPrivateAddresses, gatewayUrl },
      source: sourceOf(group),
      workers: read.children.map((child) => workerOf(child, now)),
      orphans: read.orphans,
      takenNames: read.takenNames,
      loadState: this.#options.loadStore.get(uidOf(group)),
      memory: kept.memory,
      wakeAsked: kept.wake.see(),
      frozen: new Set(read.children.filter(isFrozen).map(({ metadata }) => metadata.uid ?? '')),
      accountCap: this.#options.accountCapOf(group),
      published: kept.publisher.published(),
      publishedFile: kept.publisher.file.published(),
      refused: kept.refused,
    };
  }

  /** No worker with a machine ends for the template before another machine was seen for it. */
  async #withOutlook(observed: Observed, context: ReconcileContext): Promise<Observed> {
    const { group } = observed;
    const ending = endingForTemplate(observed);
    if (ending.length === 0) return observed;
    const { outlook: offers, cluster } = this.#options;
    const request: OutlookRequest = {
      groupUid: uidOf(group),
      templateHash: templateHash(group),
      account: { metadata: group.metadata, spec: group.spec.template.spec },
      wake: () => this.#enqueue(objectKey(group.metadata)),
      workers: async () => {
        const whole = await wholeGroup(group, cluster);
        return ending.map(({ object }) => asByTemplate(whole, object));
      },
    };
    return { ...observed, outlook: await offers.ask(request, context) };
  }

  async #readLoad({ group, kept, read }: Snapshot): Promise<void> {
    const { loadStore, readers, env, times } = this.#options;
    const workers = read.children.map((child) => workerOf(child, env.clock.now()));
    const onLate = () => {
      kept.lateFigures.ask();
      this.#enqueue(objectKey(group.metadata));
    };
    await readers.read(group, { workers, onLate });
    const uid = uidOf(group);
    const loadState = notAhead(loadStore.get(uid), env.clock.now(), times);
    const existing = new Set(workers.map(({ reporter }) => reporter));
    loadStore.put(uid, sourceOf(group) === 'workers' ? onlyReporters(loadState, existing) : loadState);
  }

  /** True where the outcome is another than the decision was made by: then it is made again. */
  async #publish(
    { group, kept }: Snapshot,
    { workers }: Observed,
    { endpoints }: Decision,
  ): Promise<boolean> {
    if (!endpoints) return false;
    const { publisher } = kept;
    const before = { service: publisher.published(), file: publisher.file.published() };
    const published = await publisher.publish({ group, workers, endpoints });
    const file = await publisher.file.ensure(group, endpoints);
    return problemOf(published) !== problemOf(before.service) || isOtherFile(file, before.file, group);
  }

  async #record(
    { group, kept }: Snapshot,
    { needsFinalizer, status, memory }: Decision,
  ): Promise<Receipt<EndpointGroup> | undefined> {
    const { cluster: client, groups } = this.#options;
    const receipt = await record({
      client,
      resource: endpointGroupResource,
      object: group,
      finalizer: needsFinalizer ? GROUP_FINALIZER : undefined,
      status,
      onWritten: (written) => groups.wrote(written),
    });
    if (receipt) kept.recorded(group, memory);
    return receipt;
  }

  #execute(
    { group, kept, read }: Snapshot,
    { actions }: Decision,
    receipt: Receipt<EndpointGroup>,
  ): Promise<Outcome> {
    const { cluster, reportHostFailure, isLeading } = this.#options;
    const effects: GroupEffects = {
      ...{ cluster, reportHostFailure, publisher: kept.publisher, siblings: read.children },
      onWritten: (worker) => this.#children.wrote(group, worker),
    };
    return execute(actions, {
      act: (action) => act(action, receipt, effects),
      mayGoOn: () => isLeading() && !this.#isOutdated(group),
      isComplete: () => this.#children.isComplete(group, read.children),
    });
  }

  /** Tells of what was done. True where other writes are refused than before: then the status is to say so. */
  #emitEvents(
    { group, kept }: Snapshot,
    { changes, because, waiting, status }: Decision,
    outcome: Outcome,
    log: ReconcileContext['log'],
  ): boolean {
    const { events, env } = this.#options;
    const before = kept.refused;
    kept.refused = [...waiting, ...outcome.refused];
    const services = [
      ...serviceEvents(group.status, status, env.clock.now()),
      ...refusalEvents(before, kept.refused),
    ];
    for (const { type, reason, note } of services)
      log[type === 'Warning' ? 'warn' : 'info']('Service of the group changed', { reason, note });
    const changed = eventsFor(changesBy(outcome.done, changes), because);
    for (const event of [...startEvents(group), ...blockEvents(group, status), ...services, ...changed])
      events.record({ regarding: group, ...event });
    return !sameJson(before, kept.refused);
  }

  /** Whether somebody has changed what the group is to be since this pass began: what it decided is not asked for now. */
  #isOutdated({ metadata }: EndpointGroup): boolean {
    const copy = this.#options.groups.get(objectKey(metadata))?.metadata;
    return (copy?.generation ?? 0) > (metadata.generation ?? 0);
  }
}

/** Whether the status says another thing of the list than it did. */
function isOtherFile(now: PublishedFile, before: PublishedFile, { status }: EndpointGroup): boolean {
  if (now.type === 'none') return before.type !== 'none' && status?.endpointsConfigMap !== undefined;
  return !sameJson(now, before.type === 'unknown' ? WHOLE_FILE : before);
}

/** As which a list counts that was not tried yet. */
const WHOLE_FILE: PublishedFile = { type: 'written', unlisted: 0, tooMany: 0 };

/** Who tells the load, by its type. */
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

function summaryOf({ memory }: Decision, { done }: Outcome): Record<string, unknown> {
  return {
    actions: done.map((action) => action.type),
    rule: memory.decision?.rule,
    hot: memory.decision?.hot,
    total: memory.decision?.total,
  };
}
