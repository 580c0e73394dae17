import { sessionOf } from '../../accounts/account-directory.ts';
import type { AccountSession } from '../../accounts/account-session.ts';
import { witnessOf } from '../../accounts/blame.ts';
import type { TicketDecision } from '../../accounts/tickets/tickets.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { accountKey, accountRefOf } from '../../instance/account-ref.ts';
import type { Logger } from '../../lib/logger.ts';
import { makeLabel } from '../../ownership/label.ts';
import type { ReconcileContext } from '../../runtime/controller.ts';
import type { AccessReviews } from '../../runtime/kube/access-review.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { objectKey } from '../../runtime/kube/kube-object.ts';
import { type ActPorts, act, type RecordedAction } from './act.ts';
import { Aftermath } from './aftermath.ts';
import { isWishChanged } from './changed-wish.ts';
import type { GpuInstanceControllerOptions } from './controller-options.ts';
import { decide } from './decide.ts';
import { actionFields, searchFields } from './log-fields.ts';
import { lookCloser } from './look-closer.ts';
import type { ObjectMemory } from './memory/memory.ts';
import type { GpuInstanceMetrics } from './metrics.ts';
import { observe, type Sources } from './observe.ts';
import { publish } from './publish/publish.ts';
import type { Receipt } from './receipt.ts';
import { type RecordPorts, record } from './record.ts';
import { recordedMachine } from './recorded.ts';
import { type RentalContext, saveResult } from './rental/save-result.ts';
import { sayQueued } from './rules/queued.ts';
import { classify } from './stage.ts';
import { stillDecides } from './still-decided.ts';
import type { Action, Decision, EventNote, Look, Observed, Step } from './types.ts';
import type { Published, RentedFacts } from './views.ts';

export interface PassPorts extends GpuInstanceControllerOptions {
  readonly sources: Sources;
  readonly memory: ObjectMemory;
  readonly withoutStart: Set<string>;
  readonly log: Logger;
  /** Waits for the marketplace without keeping other objects waiting. */
  readonly aside: ReconcileContext['aside'];
  readonly reviews: AccessReviews;
  readonly instanceMetrics: GpuInstanceMetrics;
  /** Puts the object into the work queue: an answer or a slot that it waited for is there. */
  readonly wake: () => void;
}

/** Asking for more than this in one pass, beside a look at each destroyed machine, means that two rules disagree. */
const MAX_LOOKS = 24;
/** By then the cache has what the other writer wrote. */
const LOST_RACE_RETRY_MS = 50;
const IDENTITY_RETRY_MS = 1_000;
const SHORT_LEASE_RETRY_MS = 1_000;
const NOT_PERMITTED_RETRY_MS = 10_000;
/** Calls that may wait long for their place in the marketplace's pace; a rental has its place already. */
const WAITS: ReadonlySet<Action['type']> = new Set<Action['type']>([
  'destroy',
  'stop',
  'start',
  'relabel',
  'retain',
]);

/** While nothing can be written in the cluster the machine of a deleted object goes all the same, or it would bill on. */
async function unlessDeleting({ object }: Observed, write: () => Promise<Published>): Promise<Published> {
  try {
    return await write();
  } catch (error) {
    if (object.metadata.deletionTimestamp === undefined || !(error instanceof KubeError)) throw error;
    return { type: 'failed', detail: error.message };
  }
}

const generationOf = ({ metadata }: GpuInstance): number => metadata.generation ?? 0;

/** One pass over one object: observe, decide, record, act. */
export class Pass {
  readonly #object: GpuInstance;
  readonly #ports: PassPorts;
  readonly #session: AccountSession | undefined;
  readonly #aftermath: Aftermath;

  constructor(object: GpuInstance, ports: PassPorts) {
    this.#object = object;
    this.#ports = ports;
    this.#session = sessionOf(ports.accounts.get(accountRefOf(object)));
    this.#aftermath = new Aftermath(object, {
      ...{ memory: ports.memory, metrics: ports.instanceMetrics, withoutStart: ports.withoutStart },
      ...{ clock: ports.sources.clock, steady: ports.sources.steady, session: this.#session },
      saveResult: (context, rented) => this.#saveResult(context, rented),
    });
  }

  /** Carries the pass out and says when the next one is due at the latest. */
  async run(): Promise<Look> {
    const { sources, memory } = this.#ports;
    const first = observe(this.#object, memory, sources);
    if (!first) return { afterMs: IDENTITY_RETRY_MS };
    this.#readBackLabel(first);
    this.#lookAsAsked();
    const { observed, decision } = await this.#decide(first);
    if (!decision.waits && decision.record.type !== 'intent') this.#leaveQueues(observed);
    const held = await this.#heldBack(decision);
    if (held) return held;
    const recorded = await record(observed, decision, this.#recordPorts());
    switch (recorded.type) {
      case 'lost':
        return { afterMs: LOST_RACE_RETRY_MS, lostRace: true };
      case 'leaseTooShort':
        return { afterMs: SHORT_LEASE_RETRY_MS };
      case 'refused':
        return this.#ticketRefused(recorded.refusal, observed);
      case 'recorded':
      case 'purchase':
        return this.#carryOut(observed, decision, recorded.receipt);
    }
  }

  /** What keeps this process from what was decided. */
  async #heldBack({ actions, record: { type } }: Decision): Promise<Look | undefined> {
    if (actions.length > 0 && !this.#isLeading()) return { afterMs: SHORT_LEASE_RETRY_MS };
    return type === 'intent' && !(await this.#maySaveResult()) ? this.#notPermitted() : undefined;
  }

  /** Another process may act by now: it has seen what this one has not. A rent call has a deadline of its own. */
  #isLeading(): boolean {
    const { leaseRemainingMs, constants } = this.#ports.sources;
    return leaseRemainingMs() > constants.leaseMarginMs;
  }

  /** A machine whose id cannot be written down is not worth having. */
  #maySaveResult(): Promise<boolean> {
    const namespace = this.#object.metadata.namespace ?? '';
    return this.#ports.reviews.may({
      verb: 'update',
      resource: gpuInstanceResource,
      subresource: 'status',
      namespace,
    });
  }

  #notPermitted(): Look {
    const { memory, sources, log } = this.#ports;
    const detail = 'The operator may not update gpuinstances/status here.';
    log.warn('Nothing is rented', { detail });
    this.#showEvent({ type: 'Warning', reason: 'NotPermitted', action: 'Rent', note: detail });
    memory.backOff(sources.steady.now(), NOT_PERMITTED_RETRY_MS, { reason: 'NotPermitted', detail });
    return { afterMs: NOT_PERMITTED_RETRY_MS };
  }

  async #decide(first: Observed): Promise<{ observed: Observed; decision: Decision }> {
    let observed = first;
    const most = MAX_LOOKS + first.memory.destroys.length;
    for (let looks = 0; looks < most; looks++) {
      const step: Step = decide(observed);
      if (step.type === 'decision') return { observed, decision: step };
      observed =
        step.type === 'publish' ? await this.#publish(observed, step) : await this.#look(observed, step);
    }
    throw new Error('Two rules ask for each other without end');
  }

  async #look(observed: Observed, { need }: Extract<Step, { type: 'look' }>): Promise<Observed> {
    const { sources, cluster, log, aside, wake } = this.#ports;
    const { clock, steady } = sources;
    const closerSources = { clock, steady, cluster, session: this.#session, wake };
    const look = () => lookCloser(observed, need, closerSources);
    const closer = await (need.type === 'inputs' ? look() : aside(look));
    const found = need.type === 'offers' ? closer.offers.get(need.index) : undefined;
    if (found?.type === 'found') log.info('Offers searched', searchFields(found.offers));
    return closer;
  }

  async #publish(observed: Observed, { publication }: Extract<Step, { type: 'publish' }>): Promise<Observed> {
    const { cluster, memory, sources, allowPrivateAddresses } = this.#ports;
    const { keys } = observed.identity;
    const ports = { cluster, keys, memory, allowPrivateAddresses };
    const published = await unlessDeleting(observed, () => publish(observed.object, publication, ports));
    if (published.type === 'done') memory.childrenWritten(sources.steady.now());
    return { ...observed, published, memory: memory.view(sources.steady.now()) };
  }

  async #carryOut(observed: Observed, decision: Decision, receipt: Receipt): Promise<Look> {
    this.#take(decision);
    let again: Look | undefined;
    for (const action of decision.actions) {
      if (action.type !== 'rent' && !this.#isLeading()) return { afterMs: SHORT_LEASE_RETRY_MS };
      const { rule } = decision;
      this.#ports.log.info('Acting', { rule, action: action.type, ...actionFields(action) });
      const carryOut = () => act({ observed, action, receipt }, this.#actPorts());
      const acted = await (WAITS.has(action.type) ? this.#ports.aside(carryOut) : carryOut());
      const look = await this.#aftermath.of(action, acted, { observed, receipt });
      // One machine that cannot be destroyed must not let the next one bill on.
      if (look && !(action.type === 'destroy' && acted.type === 'failed')) return look;
      again = look ?? again;
    }
    return again ?? decision.look;
  }

  /** What a recorded decision means for people, for the account and for this process's memory. */
  #take(decision: Decision): void {
    const { rule, events, avoid, settled, ended, actions, waits, backOff, explained } = decision;
    const { memory, instanceMetrics, sources } = this.#ports;
    const now = sources.steady.now();
    for (const note of events) this.#showEvent(note);
    for (const { target, reason } of avoid)
      this.#session?.avoid.add(target, reason, witnessOf(this.#object, reason));
    for (const instanceId of settled) memory.settled(instanceId);
    if (ended) instanceMetrics.ended(this.#account(), ended.reason, ended.cost);
    if (rule === 'save-result') memory.rented = undefined;
    memory.queued = waits?.word;
    if (backOff) memory.refusedByAccount(now, backOff.afterMs, backOff.refusal);
    else if (rule === 'purchase' && actions.length === 0 && !waits) memory.failures++;
    if (explained) memory.explain(explained, now);
  }

  #saveResult(context: RentalContext, rented: RentedFacts): Promise<Look> {
    const { cluster, memory, log, sources } = this.#ports;
    return saveResult(context, rented, {
      cluster,
      memory,
      log,
      clock: sources.clock,
      record: this.#recordPorts(),
      showEvent: (note) => this.#showEvent(note),
    });
  }

  async #ticketRefused(
    { reason, message, retryAfterMs }: Extract<TicketDecision, { type: 'refused' }>,
    observed: Observed,
  ): Promise<Look> {
    const { memory, sources } = this.#ports;
    if (reason === 'OfferReserved') return { afterMs: Math.min(retryAfterMs, 50) };
    if (reason === 'Queued') return this.#waitForSlot(observed, retryAfterMs);
    this.#leaveQueues(observed);
    memory.refusedByAccount(sources.steady.now(), retryAfterMs, { reason, detail: message });
    return { afterMs: 0 };
  }

  /** The object waits for a rental slot; the queue calls it. */
  async #waitForSlot(observed: Observed, afterMs: number): Promise<Look> {
    const stage = classify(observed);
    const place = this.#session?.queue.place(observed.uid, generationOf(observed.object));
    if (stage.type !== 'unrented' || !place) return { afterMs };
    const waits = sayQueued(observed, stage, place);
    const recorded = await record(observed, waits, this.#recordPorts());
    if (recorded.type === 'lost') return { afterMs: LOST_RACE_RETRY_MS, lostRace: true };
    this.#take(waits);
    return waits.look;
  }

  /** Of every login: the queue outlives the session of an account that shares its login with another one. */
  #leaveQueues({ uid }: Observed): void {
    for (const { queue } of this.#ports.accounts.sessions()) queue.leave(uid);
  }

  /** A person has asked to look now: the next list comes at once. */
  #lookAsAsked(): void {
    const { memory } = this.#ports;
    if (!memory.asksForList) return;
    memory.asksForList = false;
    memory.askedAt = this.#ports.sources.clock.monotonic();
    this.#session?.feed.lookNow();
  }

  /** The first machine of a login tells whether the service gives labels back. */
  #readBackLabel(observed: Observed): void {
    const { list, intent, identity, uid } = observed;
    if (this.#session?.labelEcho() !== 'unknown' || !list?.recorded) return;
    if (intent.type !== 'intent' || intent.intent.attempt !== recordedMachine(observed)?.attempt) return;
    const { attempt, issuedAt } = intent.intent;
    this.#session.labelReadBack(makeLabel(identity, { uid, attempt, issuedAt }), list.recorded.label);
  }

  #recordPorts(): RecordPorts {
    const { sources, cluster, memory, instances, wake } = this.#ports;
    return {
      wake,
      clock: sources.clock,
      steady: sources.steady,
      cluster,
      session: this.#session,
      memory,
      wrote: (object) => instances.wrote(object),
      leaseRemainingMs: sources.leaseRemainingMs,
    };
  }

  #actPorts(): ActPorts {
    const { log, instanceMetrics, accounts } = this.#ports;
    return {
      ...this.#recordPorts(),
      book: accounts.book(accountRefOf(this.#object)),
      log,
      metrics: instanceMetrics,
      showEvent: (note) => this.#showEvent(note),
      isStillDecided: (recorded) => this.#isStillDecided(recorded),
    };
  }

  /** The same decision made again, from the newest list and the newest copy of the object. */
  #isStillDecided({ observed, action }: RecordedAction): boolean {
    const { memory, sources } = this.#ports;
    const newest = this.#cached();
    if (!this.#isLeading() || isWishChanged(this.#object, newest)) return false;
    const isSame = newest?.metadata.uid === this.#object.metadata.uid;
    const seen = observe(newest && isSame ? newest : this.#object, memory, sources);
    return seen !== undefined && stillDecides(seen, { before: observed, action });
  }

  /** The object as this process hears of it now, which may be later than what the pass began with. */
  #cached(): GpuInstance | undefined {
    return this.#ports.instances.get(this.#key());
  }

  #showEvent(note: EventNote): void {
    this.#ports.events.record({ regarding: this.#object, ...note });
  }

  #key(): string {
    return objectKey(this.#object.metadata);
  }

  #account(): string {
    return accountKey(accountRefOf(this.#object));
  }
}
