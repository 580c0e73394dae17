import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import { sameJson } from '../../lib/json.ts';
import { conflict, type Result, requeueAfter } from '../../runtime/controller.ts';
import { objectKey } from '../../runtime/kube/kube-object.ts';
import type { Receipt } from '../../runtime/writes.ts';
import { act, execute, type Outcome } from './act.ts';
import { changesOf, eventsFor } from './actions.ts';
import { decide } from './decide.ts';
import type { Deps } from './deps.ts';
import { observe } from './observe.ts';
import { problemOf } from './publish/service.ts';
import { record } from './record.ts';
import { refusalEvents } from './service-events.ts';
import type { Decision, Observed, PublishedFile } from './types.ts';

/** Requeue interval after the spec changed during the actions, or another process leads. */
const CUT_RETRY_MS = 20;

/**
 * Reconciles one group: observe, decide, publish, record, act, apply the outcome. Level triggered: it reads the present
 * state, and any call may be the first after a crash.
 */
export async function reconcile(group: EndpointGroup, deps: Deps): Promise<Result> {
  const seen = await observe(group, deps);
  if (seen.type === 'behind') return requeueAfter(seen.afterMs);
  const { observed } = seen;
  const decision = decide(observed);
  if (await publish(observed, decision, deps)) return requeueAfter(0);
  const receipt = await record(group, decision, deps);
  if (!receipt) return conflict();
  const outcome = await actOnAll({ observed, decision, receipt }, deps);
  return applyOutcome(decision, outcome, deps);
}

// Publish

/**
 * Writes Service, slices and the list of ready workers before the status reports them. Resolves with true if the
 * result differs from the input of the decision, so the group must be decided again.
 */
async function publish(
  { group, workers }: Pick<Observed, 'group' | 'workers'>,
  { endpoints }: Decision,
  { memory: { publisher } }: Deps,
): Promise<boolean> {
  if (!endpoints) return false;
  const before = { service: publisher.published(), file: publisher.file.published() };
  const published = await publisher.publish({ group, workers: workers.all, endpoints });
  const file = await publisher.file.ensure(group, endpoints);
  return problemOf(published) !== problemOf(before.service) || isOtherFile(file, before.file, group);
}

/** Returns true if the state of the list differs from the status. */
function isOtherFile(now: PublishedFile, before: PublishedFile, { status }: EndpointGroup): boolean {
  if (now.type === 'none') return before.type !== 'none' && status?.endpointsConfigMap !== undefined;
  return !sameJson(now, before.type === 'unknown' ? WHOLE_FILE : before);
}

/** State of a list that has not been written yet. */
const WHOLE_FILE: PublishedFile = { type: 'written', unlisted: 0, tooMany: 0 };

// Act

interface RecordedDecision {
  readonly observed: Observed;
  readonly decision: Decision;
  readonly receipt: Receipt<EndpointGroup>;
}

function actOnAll(
  { observed: { group, workers }, decision: { actions, checksIdentity }, receipt }: RecordedDecision,
  deps: Deps,
): Promise<Outcome> {
  if (checksIdentity) deps.identities.check(receipt, deps.enqueue);
  const { cluster, reportHostFailure, children, memory, isLeading } = deps;
  const siblings = workers.all.map(({ object }) => object);
  const effects = {
    ...{ cluster, reportHostFailure, publisher: memory.publisher, siblings },
    onWritten: (worker: (typeof siblings)[number]) => children.wrote(group, worker),
  };
  return execute(actions, {
    act: (action) => act(action, receipt, effects),
    mayGoOn: () => isLeading() && !isOutdated(group, deps),
    isComplete: () => children.isComplete(group, siblings),
  });
}

/** Returns true if the spec changed since this reconcile began, so its decision is outdated. */
function isOutdated({ metadata }: EndpointGroup, { groups }: Pick<Deps, 'groups'>): boolean {
  const copy = groups.get(objectKey(metadata))?.metadata;
  return (copy?.generation ?? 0) > (metadata.generation ?? 0);
}

// Apply

/** Logs the changes and emits events. Throws the first failure after all actions were tried. */
function applyOutcome(decision: Decision, outcome: Outcome, deps: Deps): Result {
  if (outcome.done.length > 0) deps.log.info('workers changed', summaryOf(decision, outcome));
  const haveRefusalsChanged = emitEvents(decision, outcome, deps);
  if (outcome.failures.length > 0) throw outcome.failures[0];
  if (outcome.isCut) return requeueAfter(CUT_RETRY_MS);
  return requeueAfter(haveRefusalsChanged ? 0 : decision.requeueAfterMs);
}

function summaryOf({ memory }: Decision, { done }: Outcome): Record<string, unknown> {
  return {
    actions: done.map((action) => action.type),
    rule: memory.decision?.rule,
    hot: memory.decision?.hot,
    total: memory.decision?.total,
  };
}

/** Emits events. Returns true if the set of refused writes changed, so the status must be updated. */
function emitEvents(decision: Decision, outcome: Outcome, { memory, log, showEvent }: Deps): boolean {
  const before = memory.refused;
  memory.refused = [...decision.waiting, ...outcome.refused];
  const services = [...decision.services, ...refusalEvents(before, memory.refused)];
  for (const { type, reason, note } of services)
    log[type === 'Warning' ? 'warn' : 'info']('Service of the group changed', { reason, note });
  const changed = eventsFor(changesOf(outcome.done), decision.because);
  for (const note of [...decision.events, ...services, ...changed]) showEvent(note);
  return !sameJson(before, memory.refused);
}
