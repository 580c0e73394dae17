import { facetsOf, isReason, type Reason, reasons } from '../../api/v1alpha1/reasons.ts';
import { agreeing, counted } from '../../lib/plural.ts';
import { type DesiredCondition, findCondition } from '../../runtime/conditions.ts';
import { readableError } from './autoscale/failing.ts';
import type { Choice } from './autoscale/plan.ts';
import { isHot } from './facts.ts';
import { livePickers } from './load/pickers.ts';
import type { LoadView } from './load/view.ts';
import { endpointFileName, publishesFile } from './publish/endpoint-file.ts';
import { hasGateway } from './publish/endpoints.ts';
import type { Observed } from './types.ts';
import { isStatusCurrent, type Worker } from './workers/worker.ts';

interface GatewaySituation {
  readonly observed: Observed;
  readonly decision: { readonly hot: number };
  readonly choice: Pick<Choice, 'changes' | 'cutByCeiling'>;
  readonly load: LoadView;
  readonly counts: { readonly ready: number };
}

/** What is said of a gateway. */
type GatewayState = Omit<DesiredCondition, 'type' | 'reason'> & { readonly reason: Reason };

interface Obstacle {
  readonly reason: Reason;
  readonly message: string;
}

/**
 * Why no request can be served: no worker is ready, and none is on its way nor could be. The gateway refuses requests by
 * it instead of holding them. What passes within seconds, such as a rental that was refused, is no such reason. `service`
 * keeps workers from being published, `refused` is a write that the group needs.
 */
export function workersBlocked(
  situation: GatewaySituation,
  service: Obstacle | undefined,
  refused: Obstacle | undefined,
): GatewayState | undefined {
  const { observed, counts } = situation;
  if (!hasGateway(observed.group) || counts.ready > 0) return undefined;
  const obstacle = service ?? groupObstacle(situation, refused) ?? obstacleOfAll(situation);
  return obstacle && { status: 'True', ...obstacle };
}

/** What keeps a group without a hot worker from having one. */
function groupObstacle(
  { observed, choice, decision }: GatewaySituation,
  refused: Obstacle | undefined,
): Obstacle | undefined {
  const { spec } = observed.group;
  if (observed.workers.some(isHot)) return undefined;
  if (spec.pause.scaleUp) return { reason: 'ScalingPaused', message: 'spec.pause.scaleUp is true.' };
  if (spec.replicas === 0) return { reason: 'NoReplicas', message: 'spec.replicas is 0.' };
  // Whether one could be started is found out when one is wanted.
  if (decision.hot === 0) return undefined;
  if (refused) return refused;
  if (choice.cutByCeiling === 0 || choice.changes.length > 0) return undefined;
  return {
    reason: 'AtSpendCeiling',
    message: `maxSpendPerHour $${spec.maxSpendPerHour} leaves no room for a worker.`,
  };
}

/** That of the first worker by name, where every hot one has one. */
function obstacleOfAll({ observed, load }: GatewaySituation): Obstacle | undefined {
  const hot = observed.workers.filter(isHot).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const obstacles = hot.map((worker) => obstacleOf(worker, load.workers.get(worker.name)?.error));
  return obstacles.every((obstacle) => obstacle !== undefined) ? obstacles[0] : undefined;
}

/** Why a worker will not serve before something else changes; undefined for one that is on its way. */
function obstacleOf({ name, object, isRented, isServing }: Worker, error?: string): Obstacle | undefined {
  const { conditions } = object.status ?? {};
  const fault = readableError(error);
  if (fault !== undefined)
    return { reason: 'WorkersFailing', message: `Worker ${name} reports: ${JSON.stringify(fault)}.` };
  if (isServing || !isStatusCurrent(object)) return undefined;
  const stalled = findCondition(conditions, 'Stalled');
  const found =
    stalled?.status === 'True' ? stalled : findCondition(conditions, isRented ? 'Ready' : 'Rented');
  if (!found || !isReason(found.reason)) return undefined;
  const isLasting = found === stalled || facetsOf(found.reason).isLasting;
  return isLasting ? { reason: found.reason, message: `Worker ${name}: ${found.message}` } : undefined;
}

/** Whether the operator learns of requests. */
export function gatewayConnected({ observed }: GatewaySituation): GatewayState | undefined {
  const { group, now, loadState } = observed;
  if (!hasGateway(group)) return undefined;
  const live = livePickers(loadState.pickers, now).length;
  if (live > 0)
    return {
      status: 'True',
      reason: 'PickersReport',
      message: `${counted(live, 'picker')} ${agreeing(live, 'reports', 'report')} what the gateway counts.`,
    };
  if (loadState.pickers.since === undefined)
    return { status: 'Unknown', reason: 'PickersUnseen', message: reasons.PickersUnseen.sentence };
  return { status: 'False', reason: 'PickersSilent', message: reasons.PickersSilent.sentence };
}

/** Whether callers can be known by their keys, as the pickers say that read the Secret. */
export function callerKeysUsable({ observed }: GatewaySituation): GatewayState | undefined {
  const { group, now, loadState } = observed;
  const secret = group.spec.gateway?.keys?.secretName;
  if (secret === undefined || !hasGateway(group)) return undefined;
  const reports = livePickers(loadState.pickers, now).flatMap(({ report }) => report.keys ?? []);
  const states = new Set(reports.map(({ state }) => state));
  if (states.has('Missing'))
    return { status: 'False', reason: 'SecretMissing', message: `There is no Secret ${secret}.` };
  const unusable = [...new Set(reports.flatMap((report) => report.unusable))].join(', ');
  if (states.has('Unusable'))
    return {
      status: 'False',
      reason: 'CallerKeysInvalid',
      message: `Secret ${secret} has no usable key. ${HASH_REMEDY}${unusable && ` No SHA-256: ${unusable}.`}`,
    };
  if (unusable !== '')
    return {
      status: 'False',
      reason: 'CallerKeysInvalid',
      message: `Secret ${secret}: values of ${unusable} are no SHA-256. ${HASH_REMEDY}`,
    };
  if (states.has('Read'))
    return {
      status: 'True',
      reason: 'CallerKeysRead',
      message: `The gateway knows callers by Secret ${secret}.`,
    };
  const message = `No picker has read Secret ${secret}. Allow pickers to get it (chart: gateway.secrets).`;
  return { status: 'Unknown', reason: 'CallerKeysUnread', message };
}

const HASH_REMEDY = 'Store the SHA-256 of each key: printf %s "$KEY" | sha256sum.';

/** Whether another router finds all ready workers in the list of them. */
export function endpointsPublished({ observed }: GatewaySituation): GatewayState | undefined {
  const { group, publishedFile: file = { type: 'unknown' } } = observed;
  if (file.type === 'problem') return { status: 'False', reason: file.reason, message: file.detail };
  if (!publishesFile(group)) return undefined;
  const name = endpointFileName(group);
  const { unlisted, tooMany } = file.type === 'written' ? file : { unlisted: 0, tooMany: 0 };
  if (unlisted + tooMany === 0)
    return {
      status: 'True',
      reason: 'EndpointsWritten',
      message: `ConfigMap ${name} lists the ready workers.`,
    };
  const why = [
    ...(unlisted > 0 ? [`${unlisted} without an IPv4 address and the port that serves`] : []),
    ...(tooMany > 0 ? [`${tooMany} for which it has no room`] : []),
  ];
  const message = `ConfigMap ${name} leaves ready workers out: ${why.join(', ')}.`;
  return { status: 'False', reason: 'EndpointsLeftOut', message };
}
