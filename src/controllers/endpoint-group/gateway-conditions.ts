import { type Reason, reasons } from '../../api/v1alpha1/reasons.ts';
import { type DesiredCondition, findCondition } from '../../runtime/conditions.ts';
import type { Choice } from './autoscale/plan.ts';
import { isHot } from './facts.ts';
import { livePickers } from './load/pickers.ts';
import type { LoadView } from './load/view.ts';
import { endpointFileName, publishesFile } from './publish/endpoint-file.ts';
import { hasGateway } from './publish/endpoints.ts';
import type { Observed } from './types.ts';
import { readableError } from './workers/failing.ts';
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
  const isLasting = found === stalled || LASTING.has(found.reason);
  return isLasting ? { reason: found.reason, message: `Worker ${name}: ${found.message}` } : undefined;
}

function isReason(reason: string): reason is Reason {
  return Object.hasOwn(reasons, reason);
}

/**
 * Reasons for which a worker gets no machine, or its own does not start, until someone acts or the market changes. Not
 * `AccountNotReady`: an account is that for seconds as well, while its machines are listed after each start of the operator,
 * and requests that wait must outlive one.
 */
const LASTING: ReadonlySet<Reason> = new Set<Reason>([
  'AccountLimitReached',
  'AccountMissing',
  'BreakerOpen',
  'InputsTooLarge',
  'InsufficientCredit',
  'InvalidFilter',
  'InvalidRequest',
  'LimitReached',
  'NamespaceNotAllowed',
  'NoOffers',
  'NoOfferWithinPrice',
  'NoPriceLimit',
  'NotPermitted',
  'OnStartTooLong',
  'Paused',
  'PriceUnknown',
  'ReplacementOff',
  'SSHKeyMissing',
  'SecretInvalid',
  'SecretKeyMissing',
  'SecretMissing',
  'SecretNotAllowed',
  'TooManyRentals',
]);

/** Whether the operator learns of requests. */
export function gatewayConnected({ observed }: GatewaySituation): GatewayState | undefined {
  const { group, now, loadState } = observed;
  if (!hasGateway(group)) return undefined;
  const live = livePickers(loadState.pickers, now).length;
  if (live > 0)
    return {
      status: 'True',
      reason: 'PickersReport',
      message: `${live === 1 ? '1 picker reports' : `${live} pickers report`} what the gateway counts.`,
    };
  if (loadState.pickers.since === undefined)
    return { status: 'Unknown', reason: 'PickersUnseen', message: reasons.PickersUnseen.sentence };
  return { status: 'False', reason: 'PickersSilent', message: reasons.PickersSilent.sentence };
}

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
