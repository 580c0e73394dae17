import { labels } from '../../../src/api/v1alpha1/names.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { BY_HAND } from '../console.ts';
import { idAt, isObject, type JsonObject, metadataOf, objectAt } from '../memory-kube/json.ts';
import { throwAsNode } from '../prober.ts';
import { offers } from '../simulated-market.ts';
import { statusAt } from '../status-at.ts';
import { accountKeyOf, holdsSweep } from './accounts.ts';
import { failureWaitOf } from './failure-wait.ts';
import { hasOffer, waitsForOffers } from './free-offers.ts';
import type { OwnLimits } from './own-limits.ts';
import { fitsItsLabel } from './purchase.ts';
import { isRun } from './run-state.ts';
import { conditionOf, keyOf, nameOf, type Scene } from './scene.ts';

const { instanceUid: INSTANCE_UID } = labels;

/** A wrong state after the faults have stopped and time has passed. */
export interface Shortfall {
  readonly invariant: string;
  readonly text: string;
}

/** Conditions that may keep an object from its desired state. */
export interface Restraints {
  /** True if it has rented too often within the hour. */
  readonly isBlockedByBrake: (uid: string) => boolean;
  readonly ownLimits: Pick<OwnLimits, 'isReached' | 'isOverrun'>;
  /** True if its machine was rented for another image than the present one. */
  readonly hasFormerImage: (object: JsonObject) => boolean;
}

/** Returns missing and surplus parts of the desired state: empty when everything exists, and nothing else. */
export function shortfallsOf(scene: Scene, restraints: Restraints): readonly Shortfall[] {
  return [
    ...ofAccounts(scene),
    ...unrecorded(scene),
    ...leftChildren(scene),
    ...[...scene.objects.values()].flatMap((object) => unreached(scene, object, restraints)),
  ];
}

/**
 * Returns deleted accounts that should be gone, unless existing objects have machines of it, and kept keys of such
 * accounts.
 */
function ofAccounts(scene: Scene): readonly Shortfall[] {
  const standing = scene.accounts.all();
  const inUse = new Set([...scene.objects.values()].filter(holdsForGood).map(accountKeyOf));
  const leaving = standing.filter(
    (account) => metadataOf(account)['deletionTimestamp'] && !inUse.has(keyOf(account)),
  );
  const mayStay = new Set(standing.map((account) => `gpuacct-${String(metadataOf(account)['uid'])}`));
  const { kube } = scene.world;
  const secrets = kube.store.all(kube.kind('secrets')).map(nameOf);
  const kept = secrets.filter((name) => name.startsWith('gpuacct-') && !mayStay.has(name));
  return [
    ...leaving.map((account) => ({
      invariant: 'ESR',
      text: `the account ${nameOf(account)} is still being deleted`,
    })),
    ...kept.map((name) => ({ invariant: 'I12', text: `the key in ${name} outlives its account` })),
  ];
}

const holdsForGood = (object: JsonObject): boolean =>
  statusAt(object)['instanceId'] !== undefined && !metadataOf(object)['deletionTimestamp'];

function unrecorded(scene: Scene): readonly Shortfall[] {
  const mine = Object.values(scene.contracts()).filter(
    (contract) =>
      scene.purchaseOf(contract) &&
      contract.image !== BY_HAND &&
      fitsItsLabel(contract) &&
      !scene.isKept(contract),
  );
  return mine.flatMap((contract) => {
    const owner = scene.ownerOf(contract);
    if (!owner && scene.isRepeated(contract) && scene.orphanPolicy(contract) !== 'Destroy') return [];
    if (!owner)
      return [{ invariant: 'I1', text: `contract ${contract.id} still bills and no object claims it` }];
    if (idAt(statusAt(owner), 'instanceId') === contract.id) return [];
    return [
      { invariant: 'I2', text: `contract ${contract.id} is not the one that ${nameOf(owner)} records` },
    ];
  });
}

/** L7: nothing leads to a machine whose object is gone; a Secret and a Service may outlive it beside a machine that is kept. */
function leftChildren(scene: Scene): readonly Shortfall[] {
  const { kube } = scene.world;
  const kept = Object.values(scene.contracts()).filter((contract) => scene.isKept(contract));
  const ofKept = new Set(kept.map((contract) => (scene.purchaseOf(contract) ?? scene.madeBy(contract))?.uid));
  return ['secrets', 'services', 'endpointslices'].flatMap((plural) =>
    kube.store.all(kube.kind(plural)).flatMap((child) => {
      const uid = objectAt(metadataOf(child), 'labels')[INSTANCE_UID];
      if (uid === undefined || scene.objects.has(String(uid))) return [];
      if (plural !== 'endpointslices' && ofKept.has(String(uid))) return [];
      return [{ invariant: 'I14', text: `${plural} ${nameOf(child)} outlives its object and leads nowhere` }];
    }),
  );
}

function unreached(
  scene: Scene,
  object: JsonObject,
  { isBlockedByBrake, ownLimits, hasFormerImage }: Restraints,
): readonly Shortfall[] {
  const name = nameOf(object);
  const metadata = metadataOf(object);
  if (metadata['deletionTimestamp']) return [{ invariant: 'ESR', text: `${name} is still being deleted` }];
  const status = statusAt(object);
  const contract = machineOf(scene, object);
  const powerState = objectAt(object, 'spec')['powerState'];
  const state = `status ${JSON.stringify({ phase: status['phase'], instanceId: status['instanceId'] })}`;
  const found: Shortfall[] = [];
  const mayRun =
    !mayBeSpent(scene, object, ownLimits) &&
    status['idleEndedAt'] === undefined &&
    objectAt(status, 'run')['outcome'] === undefined &&
    !isBlockedByBrake(String(metadata['uid'])) &&
    !waitsForItsSpec(scene, object) &&
    !waitsForOffers(scene, object);
  if (contract?.actualStatus === 'running' && ownLimits.isOverrun(object) && isEndedByLimits(scene, object))
    found.push({ invariant: 'I9', text: `${name} has a machine beyond its own limits: ${state}` });
  const isUnrentable = isWithoutTarget(object) || (isRun(object) && !offers(scene.world.facts, 'selfEnd'));
  if (powerState === 'Running' && contract?.actualStatus !== 'running' && mayRun && !isUnrentable) {
    found.push({
      invariant: 'ESR',
      text: `${name} wants to run and does not: ${state}, ${readyMessage(object)}`,
    });
  }
  if (contract && mayRun && hasFormerImage(object) && mayReplace(scene, object)) {
    found.push({
      invariant: 'ESR',
      text: `${name} has another image since, and keeps machine ${contract.id}: ${state}`,
    });
  }
  if (powerState === 'Stopped' && contract && runs(scene, contract) && !isWithoutTarget(object)) {
    found.push({ invariant: 'ESR', text: `${name} wants to be stopped and runs: ${state}` });
  }
  const unreported = unreportedProbe(object);
  const isSpoilt = contract !== undefined && scene.world.containers.faultOf(contract) !== undefined;
  if (status['phase'] === 'Running' && unreported !== undefined && !isSpoilt)
    found.push({ invariant: 'I14', text: unreported });
  if (status['phase'] === 'Running' && !contract) {
    found.push({ invariant: 'I14', text: `${name} claims to run on a machine that is gone` });
  }
  return found;
}

/** Returns true if nothing prevents the effect of an edit: neither its policies nor the market nor a breaker. */
function mayReplace(scene: Scene, object: JsonObject): boolean {
  const { paused, powerState, updateStrategy, adopt } = objectAt(object, 'spec');
  const isOnHold = objectAt(metadataOf(object), 'annotations')['gpurental.dev/hold'] !== undefined;
  const isLeft = isObject(updateStrategy) && updateStrategy['type'] === 'OnDelete';
  const isKept = isOnHold || isLeft || paused === true || adopt !== undefined;
  const isHandled = scene.isHandled(String(metadataOf(object)['uid']));
  if (isKept || isHandled || powerState !== 'Running' || holdsSweep(scene.accountOf(object))) return false;
  return hasOffer(scene, object);
}

/** Containers answer every probe, if no story spoils them: `Ready` says so if the probe cannot be sent, and nothing of the probe if it can. */
function unreportedProbe(object: JsonObject): string | undefined {
  const action = objectAt(objectAt(object, 'spec'), 'readinessProbe')['httpGet'];
  if (!isObject(action)) return undefined;
  const { reason, message } = conditionOf(object, 'Ready') ?? {};
  const isUnreached = reason === 'NotReachable';
  const text = String(message);
  if (!isSendable(action))
    return isUnreached && text.includes('cannot be sent')
      ? undefined
      : `the probe of ${nameOf(object)} cannot be sent, and Ready says ${reason}`;
  return isUnreached && !text.includes('no public port')
    ? `the machine of ${nameOf(object)} answers its probe, and Ready says ${reason}`
    : undefined;
}

function isSendable({ path = '/', httpHeaders = [] }: JsonObject): boolean {
  const headers = Array.isArray(httpHeaders) ? httpHeaders.filter(isObject) : [];
  try {
    throwAsNode({
      path: String(path),
      headers: headers.map(({ name, value }) => ({ name: String(name), value: String(value) })),
    });
    return true;
  } catch {
    return false;
  }
}

/** Tolerance for the operator's wall clock, which may have been slightly wrong. */
const WAIT_SLACK_MS = 60_000;

const waitsForItsSpec = (scene: Scene, object: JsonObject): boolean =>
  (failureWaitOf(object) ?? Number.NEGATIVE_INFINITY) + WAIT_SLACK_MS > scene.now;

/**
 * Returns true for an object without a machine of its own: it only observes one, or was to adopt one that is gone or
 * has another owner.
 */
function isWithoutTarget(object: JsonObject): boolean {
  const { policy } = objectAt(objectAt(object, 'spec'), 'adopt');
  const { attempt = 0 } = statusAt(object);
  return policy === 'Observe' || (policy !== undefined && attempt === 0);
}

/**
 * Returns true if the object's limits end its machine. A policy or a person may keep it running; a record that a person wrote
 * cannot be counted.
 */
function isEndedByLimits(scene: Scene, object: JsonObject): boolean {
  const { uid } = metadataOf(object);
  return objectAt(object, 'spec')['deletionPolicy'] !== 'Retain' && !scene.isHandled(String(uid));
}

/** Returns true if its own limits may keep it from a machine: a record that a person wrote cannot be counted. */
function mayBeSpent(scene: Scene, object: JsonObject, ownLimits: Restraints['ownLimits']): boolean {
  const { maxLifetime, maxTotalCost } = objectAt(object, 'spec');
  const isLimited = maxLifetime !== undefined || maxTotalCost !== undefined;
  return ownLimits.isReached(object) || (isLimited && scene.isHandled(String(metadataOf(object)['uid'])));
}

/** Returns the recorded machine, unless a person wrote the id of a foreign machine there, which is never touched. */
function machineOf(scene: Scene, object: JsonObject): Contract | undefined {
  const uid = String(metadataOf(object)['uid']);
  const recorded = scene.contracts()[Number(statusAt(object)['instanceId'])];
  if (!recorded || !scene.isHandled(uid) || scene.takerOf(recorded.id) === object) return recorded;
  const buyer = (scene.purchaseOf(recorded) ?? scene.madeBy(recorded))?.uid;
  return recorded.image === BY_HAND || (buyer !== undefined && buyer !== uid) ? undefined : recorded;
}

/** Returns true if the machine runs: only a reachable one can be stopped; the object reports a silent one. */
function runs(scene: Scene, contract: Contract): boolean {
  return contract.actualStatus === 'running' && contract.intendedStatus === 'running' && scene.isUp(contract);
}

function readyMessage(object: JsonObject): string {
  const ready = conditionOf(object, 'Ready');
  return ready ? `Ready ${String(ready['reason'])}: ${String(ready['message'])}` : 'no Ready condition';
}
