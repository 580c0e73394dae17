import { parseQuantity } from '../../../src/lib/quantity.ts';
import { parseDuration } from '../../../src/lib/time.ts';
import type { TransportRequest } from '../../../src/lib/transport.ts';
import { hasOperatorPrefix } from '../../../src/ownership/label.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { BY_HAND } from '../console.ts';
import {
  equalJson,
  idAt,
  isObject,
  type Json,
  type JsonObject,
  listAt,
  metadataOf,
  objectAt,
  textAt,
} from '../memory-kube/json.ts';
import type { Commit } from '../memory-kube/store.ts';
import { statusAt } from '../status-at.ts';
import { HeldSince } from './held-since.ts';
import { mayKeep } from './kept.ts';
import { OwnLimits } from './own-limits.ts';
import { maxPriceOf, priceOf } from './price.ts';
import { intentOf, isLate, type Purchase, readPurchase } from './purchase.ts';
import { nameOf, type Scene } from './scene.ts';

/** Maximum lag of a list (the operator's `--list-lag`). */
const LIST_LAG_MS = 60_000;
/** With frozen leaders a second machine may live until the surplus rule has seen and destroyed it. */
const LOOSE_OVERLAP_MS = 300_000;
const CHANGE_PATH = /^\/api\/v0\/instances\/([1-9]\d*)\/$/;

/** Watches machines come and go: I2 no double, I3 no foreign harm, I4 no lost work, I5 intent first, I7 not let go early. */
export class MachineWatch {
  readonly #scene: Scene;
  readonly #onRented: (purchase: Purchase) => void;
  readonly #seen = new Map<number, Contract>();
  readonly #foreign = new Map<number, Contract>();
  readonly #harmed = new Set<number>();
  /** Foreign contracts that an object adopted, as its account allows. */
  readonly #takenOver = new Set<number>();
  readonly #released = new Set<string>();
  readonly #paused = new HeldSince('paused', (object) => objectAt(object, 'spec')['paused'] === true);
  /** Contracts that the service hides from lists and reads for longer than any proof takes. */
  readonly #hidden = new Set<number>();
  readonly #overlapSince = new Map<string, number>();
  /** Contracts that another client ends. */
  readonly #elsewhere = new Set<number>();
  /** Contracts that were not at work when a process sent their destroy. */
  readonly #excused = new Set<number>();
  /** The spec of each purchase when its call left, which may be carried out after the next edit. */
  readonly #askedFor = new Map<string, Json | undefined>();
  /** The spec that a contract was bought for: one of another spec may be replaced. */
  readonly #boughtFor = new Map<number, Json | undefined>();
  readonly #boughtAt = new Map<number, number>();
  /** When each was last seen not to work: an operator may learn of its recovery that much later. */
  readonly #notWorkingAt = new Map<number, number>();
  readonly #notWorking = new Set<number>();
  /** With which an operator has rented. */
  readonly #ownLabels = new Set<string>();
  /** When each was last seen to be unwanted, at work or not: an operator may learn of another wish that much later. */
  readonly #unwantedAt = new Map<number, number>();
  /** Contracts whose host fell silent while they did their work, and when. */
  readonly #silentSince = new Map<number, number>();
  /** Contracts whose destroy was sent. */
  readonly #destroying = new Set<number>();
  /** Lifetime and cost of the machines of objects. */
  readonly ownLimits: OwnLimits;

  constructor(scene: Scene, onRented: (purchase: Purchase) => void) {
    this.#scene = scene;
    this.#onRented = onRented;
    this.ownLimits = new OwnLimits(scene);
  }

  isForeign(id: number): boolean {
    return this.#foreign.has(id);
  }

  /**
   * Records that a person ends that contract in the console. One that was rented by hand with a copied label may have
   * been reported as owned; the person learns nothing of others.
   */
  destroyedElsewhere(id: number): void {
    this.#elsewhere.add(id);
    if (hasOperatorPrefix(this.#scene.contracts()[id]?.label)) this.#foreign.delete(id);
  }

  /**
   * Records that the renter by hand labels that contract in the console: it must stay unchanged from then on, unless an
   * object adopted it before.
   */
  labelledElsewhere(id: number): void {
    const before = this.#foreign.get(id);
    const taker = this.#scene.takerOf(id);
    if (before?.label === null && taker !== undefined && this.#isAdoptionAllowed(before))
      this.#takenOver.add(id);
    this.#foreign.delete(id);
  }

  /** Records a sent rent call. */
  rentSent({ uid, attempt }: Purchase): void {
    this.#askedFor.set(askedKey(uid, attempt), this.#scene.objects.get(uid)?.['spec']);
  }

  /** Records a written or removed object. */
  committed(commit: Commit): void {
    this.#paused.committed(commit, this.#scene.now);
    if (commit.kind.plural === 'gpuinstances') this.ownLimits.recorded(commit.object);
  }

  changed(): void {
    const contracts = this.#scene.contracts();
    for (const contract of Object.values(contracts))
      if (contract.image === BY_HAND) this.#addForeign(contract);
    for (const contract of this.#scene.live()) if (!this.#seen.has(contract.id)) this.#began(contract);
    for (const [id, contract] of this.#seen) if (!contracts[id]) this.#ended(contract);
    for (const contract of this.#scene.live()) this.#seen.set(contract.id, contract);
    this.#checkForeign(contracts);
    this.#noteHealth();
    this.#noteOverlaps();
  }

  /** Ends the time that overlaps may last where leaders are frozen, or a proxy repeats a rental. */
  elapsed(): void {
    const { now } = this.#scene;
    for (const [uid, since] of this.#overlapSince) {
      if (now - since > LOOSE_OVERLAP_MS) this.#overlaps(uid);
    }
  }

  /** Records a sent destroy: it may reach a machine that has recovered meanwhile, so the time of sending counts. */
  destroySent(id: number, { isListedRunning }: { readonly isListedRunning: boolean }): void {
    const listed = this.#scene.contracts()[id];
    if (listed && this.#resemblesLateRental(listed)) this.#foreign.delete(id);
    const contract = this.#seen.get(id);
    const owner = contract && this.#scene.ownerOf(contract);
    const isAtWork = contract && owner && this.#isWorkingFor(owner, contract);
    const wasIdleAt = this.#notWorkingAt.get(id) ?? Number.NEGATIVE_INFINITY;
    if (owner) {
      this.#checkPatience(owner, contract);
      this.#checkPause(owner, contract);
      if (isListedRunning && isAtWork) this.#checkList(owner, contract);
    }
    this.#destroying.add(id);
    if (!isAtWork || this.#scene.now - wasIdleAt < LIST_LAG_MS) this.#excused.add(id);
  }

  /** Returns true if a budget of the namespace may stop machines; its own tests show when. */
  #mayBudgetStop(owner: JsonObject): boolean {
    const { namespace } = metadataOf(owner);
    return [...this.#scene.budgets.values()].some(
      (budget) =>
        metadataOf(budget)['namespace'] === namespace && objectAt(budget, 'spec')['onExceeded'] === 'Stop',
    );
  }

  /** Checks that a desired machine is neither stopped nor labelled as another's, unless it fails for another reason. */
  changeSent({ method, path, body = '' }: TransportRequest): void {
    const id = method === 'PUT' ? Number(CHANGE_PATH.exec(path)?.[1]) : Number.NaN;
    const contract = this.#seen.get(id);
    const owner = contract && this.#scene.ownerOf(contract);
    if (!owner || !this.#isAskedFor(owner, contract)) return;
    const unwantedAt = this.#unwantedAt.get(id) ?? Number.NEGATIVE_INFINITY;
    const uid = String(metadataOf(owner)['uid']);
    if (this.#scene.now - unwantedAt < LIST_LAG_MS || this.#scene.isHandled(uid)) return;
    const asked: unknown = JSON.parse(body);
    const { state, label } = isObject(asked) ? asked : {};
    if (state === 'stopped' && !this.#mayBudgetStop(owner))
      this.#scene.broken('I4', `contract ${id} was stopped while ${nameOf(owner)} wanted it to run`);
    if (typeof label === 'string' && readPurchase(label)?.uid !== uid)
      this.#scene.broken('I4', `contract ${id} was labelled "${label}" while ${nameOf(owner)} claimed it`);
  }

  /**
   * Returns true if a machine that a person rented carries the label of an operator's purchase since a time when a
   * service might carry that out late, and for so long that orphans of that kind are swept: then nothing tells it from
   * one.
   */
  #resemblesLateRental(contract: Contract): boolean {
    const age = this.#scene.now - contract.createdAt;
    const isCopy = contract.image === BY_HAND && this.#ownLabels.has(contract.label ?? '');
    const isSwept = this.#scene.orphanPolicy(contract) === 'Destroy' && age >= this.#scene.lateOrphanAgeMs;
    return isCopy && isSwept && isLate(contract);
  }

  /** Returns true if the machine of an object was rented for another image than the present one. */
  hasFormerImage(object: JsonObject): boolean {
    const bought = this.#boughtFor.get(idAt(statusAt(object), 'instanceId') ?? 0);
    return isObject(bought) && bought['image'] !== objectAt(object, 'spec')['image'];
  }

  /** Returns true if the limits of the contract's object end it. */
  isEndedByLimits(id: number): boolean {
    const contract = this.#scene.contracts()[id];
    const owner = contract && this.#scene.ownerOf(contract);
    return owner !== undefined && this.ownLimits.isReached(owner);
  }

  /**
   * Records that the service hides that contract for longer than any proof takes: its object may be deleted, and it
   * ends once it is listed.
   */
  hiddenFromProofs(id: number): void {
    this.#hidden.add(id);
  }

  /** Records a deleted object. */
  released(uid: string, object: JsonObject): void {
    if (this.#scene.isHandled(uid)) return;
    this.#released.add(goneKey(uid));
    for (const contract of Object.values(this.#scene.contracts())) {
      if (contract.image === BY_HAND || this.#scene.purchaseOf(contract)?.uid !== uid) continue;
      if (isLate(contract) || this.#isUnseenRepeat(contract) || this.#hidden.has(contract.id)) continue;
      if (this.#scene.isKept(contract) && mayKeep(object, contract.id)) continue;
      this.#scene.broken('I7', `${nameOf(object)} was let go while contract ${contract.id} lives`);
    }
  }

  /** Returns true for a repeated rental that no list may have shown before its object's deletion. */
  #isUnseenRepeat(contract: Contract): boolean {
    return this.#scene.now - contract.createdAt < LIST_LAG_MS && this.#scene.isRepeated(contract);
  }

  #addForeign(contract: Contract): void {
    if ([this.#foreign, this.#harmed, this.#takenOver].some((ids) => ids.has(contract.id))) return;
    this.#foreign.set(contract.id, contract);
  }

  #began(contract: Contract): void {
    const purchase = this.#scene.purchaseOf(contract);
    if (purchase && contract.image !== BY_HAND) this.#ownLabels.add(contract.label ?? '');
    this.#scene.world.note(
      `contract ${contract.id} begins on host ${contract.hostId} (${purchase?.uid.slice(0, 4)} attempt ${purchase?.attempt})`,
    );
    if (!purchase) return;
    this.#onRented(purchase);
    const { uid, attempt } = purchase;
    this.ownLimits.holds(contract, uid);
    const owner = this.#scene.objects.get(uid);
    this.#boughtFor.set(contract.id, this.#askedFor.get(askedKey(uid, attempt)) ?? owner?.['spec']);
    this.#boughtAt.set(contract.id, contract.gpuPricePerHour);
    this.#checkPorts(contract);
    if (this.#scene.isHandled(uid)) return;
    if (owner && !hasIntentFor(owner, attempt)) {
      this.#scene.broken('I5', `contract ${contract.id} was rented before its intent stood on the object`);
    }
    if (this.#released.has(goneKey(uid)) && !isLate(contract) && !this.#scene.isRepeated(contract)) {
      this.#scene.broken(
        'I7',
        `contract ${contract.id} appeared after the finalizer of its object was removed`,
      );
    }
  }

  #ended(contract: Contract): void {
    this.#seen.delete(contract.id);
    this.ownLimits.ended(contract);
    this.#scene.world.note(`contract ${contract.id} ends`);
    if (this.#elsewhere.delete(contract.id) || this.#excused.delete(contract.id)) return;
    const owner = this.#scene.ownerOf(contract);
    if (!owner || this.#scene.isHandled(this.#scene.purchaseOf(contract)?.uid)) return;
    if (this.#isWorkingFor(owner, contract)) {
      const text = `contract ${contract.id} was destroyed while ${nameOf(owner)} wanted it and it ran`;
      this.#scene.broken('I4', text);
    }
  }

  /** Checks that a host may be silent for the time in the spec before its machine is given up. */
  #checkPatience(owner: JsonObject, contract: Contract): void {
    const silentFor = this.#scene.now - (this.#silentSince.get(contract.id) ?? Number.NEGATIVE_INFINITY);
    if (silentFor >= patienceOf(owner) || !this.#isDesiredBy(owner, contract)) return;
    const text = `contract ${contract.id} was given up after ${silentFor / 1000} s of silence`;
    this.#scene.broken('I4', `${text}, and ${nameOf(owner)} bears ${patienceOf(owner) / 1000} s`);
  }

  /** Checks that no machine is given up while its object is paused, unless its end had begun. */
  #checkPause(owner: JsonObject, { id }: Contract): void {
    const isRecorded = idAt(statusAt(owner), 'instanceId') === id && !this.#destroying.has(id);
    const isPaused = this.#paused.isKnown(owner, this.#scene.now) && !this.ownLimits.isReached(owner);
    if (!isRecorded || !isPaused || metadataOf(owner)['deletionTimestamp'] !== undefined) return;
    this.#scene.broken('I4', `contract ${id} was given up while ${nameOf(owner)} was paused`);
  }

  /** Checks that a machine which the newest list shows at work does not count as lost, whatever was recorded before. */
  #checkList(owner: JsonObject, { id }: Contract): void {
    const unwantedAt = this.#unwantedAt.get(id) ?? Number.NEGATIVE_INFINITY;
    if (this.#destroying.has(id) || this.#scene.now - unwantedAt < LIST_LAG_MS) return;
    if (this.#scene.isHandled(String(metadataOf(owner)['uid']))) return;
    const text = `contract ${id} was given up although the newest list shows it running`;
    this.#scene.broken('I4', `${text}, and ${nameOf(owner)} wants it`);
  }

  /** Records a silence of a machine that had worked for a while: the time before may be why it ends. */
  #noteSilence(owner: JsonObject, contract: Contract): void {
    const { now } = this.#scene;
    const wasIdleAt = this.#notWorkingAt.get(contract.id) ?? Number.NEGATIVE_INFINITY;
    if (!this.#isSilent(owner, contract)) this.#silentSince.delete(contract.id);
    else if (!this.#notWorking.has(contract.id) && now - wasIdleAt >= LIST_LAG_MS)
      this.#silentSince.set(contract.id, now);
  }

  #noteHealth(): void {
    for (const contract of this.#scene.live()) {
      const owner = this.#scene.ownerOf(contract);
      const holder = owner ?? this.#scene.takerOf(contract.id);
      if (holder) this.ownLimits.holds(contract, String(metadataOf(holder)['uid']));
      if (owner) this.#noteSilence(owner, contract);
      if (owner && !this.#isAskedFor(owner, contract)) this.#unwantedAt.set(contract.id, this.#scene.now);
      if (this.#notWorking.delete(contract.id)) this.#notWorkingAt.set(contract.id, this.#scene.now);
      if (owner && !this.#isWorkingFor(owner, contract)) this.#notWorking.add(contract.id);
    }
  }

  /** Returns true if the object records and desires that contract, and it works. */
  #isWorkingFor(object: JsonObject, contract: Contract): boolean {
    return this.#scene.isUp(contract) && this.#isDesiredBy(object, contract);
  }

  #isSilent(object: JsonObject, contract: Contract): boolean {
    return !this.#scene.isUp(contract) && this.#isDesiredBy(object, contract);
  }

  /** Returns true if the object records and desires that contract, and it works if its host is up. */
  #isDesiredBy(object: JsonObject, contract: Contract): boolean {
    return (
      contract.actualStatus === 'running' &&
      contract.intendedStatus === 'running' &&
      this.#isAskedFor(object, contract)
    );
  }

  /** Returns true if the object records and desires that contract, whatever its state. */
  #isAskedFor(object: JsonObject, contract: Contract): boolean {
    const spec = objectAt(object, 'spec');
    const bought = this.#boughtFor.get(contract.id);
    return (
      metadataOf(object)['deletionTimestamp'] === undefined &&
      !this.ownLimits.isReached(object) &&
      // Another oracle decides whether its run has a result.
      !hasResult(object) &&
      // Another oracle decides whether it was idle.
      statusAt(object)['idleEndedAt'] === undefined &&
      !isToBeReplaced(object, contract) &&
      !this.#isTooExpensive(object, contract) &&
      idAt(statusAt(object), 'instanceId') === contract.id &&
      spec['powerState'] === 'Running' &&
      (isUpdatedOnDelete(spec) || isBoughtAs(spec, bought, this.#modelOf(contract)))
    );
  }

  /** Checks that a machine with declared ports is rented only if each of them can be mapped. */
  #checkPorts({ id, offerId }: Contract): void {
    const bought = this.#boughtFor.get(id);
    const declared = isObject(bought) ? listAt(bought, 'ports').length : 0;
    const direct =
      this.#scene.world.market.store.current().tables.offers[offerId]?.columns['direct_port_count'];
    if (typeof direct !== 'number' || direct >= declared) return;
    this.#scene.broken(
      'Ports',
      `contract ${id} has ${direct} direct ports, and its object declares ${declared}`,
    );
  }

  #modelOf({ offerId }: Contract): string {
    return String(this.#scene.world.market.store.current().tables.offers[offerId]?.columns['gpu_name']);
  }

  /**
   * Returns true if the machine costs more than at its rental, or than its object allows now, and the object requests a
   * replacement then.
   */
  #isTooExpensive(object: JsonObject, contract: Contract): boolean {
    if (objectAt(object, 'spec')['onPriceAbove'] !== 'Replace') return false;
    const { id, gpuPricePerHour } = contract;
    const hasRisen = gpuPricePerHour > (this.#boughtAt.get(id) ?? gpuPricePerHour);
    return hasRisen || priceOf(contract) > (maxPriceOf(object) ?? Number.POSITIVE_INFINITY);
  }

  #checkForeign(contracts: Readonly<Record<number, Contract>>): void {
    for (const [id, before] of this.#foreign) {
      const contract = contracts[id];
      const now = contract ? standingOf(contract) : 'destroyed';
      if (now === standingOf(before)) continue;
      this.#foreign.delete(id);
      if (this.#isFairlyTaken(before, contract)) {
        this.#takenOver.add(id);
        continue;
      }
      this.#harmed.add(id);
      this.#scene.broken(
        'I3',
        `contract ${id}, which is not ours, changed from ${standingOf(before)} to ${now}`,
      );
    }
  }

  /**
   * Returns true if it had no label, and an object has taken it over as all accounts of its login let objects do: it
   * has the label of that object now, or went with it before it was labelled.
   */
  #isFairlyTaken(before: Contract, now: Contract | undefined): boolean {
    const taker = this.#scene.takerOf(before.id);
    if (taker === undefined || before.label !== null) return false;
    const { uid, deletionTimestamp } = metadataOf(taker);
    const isItsOwn = now
      ? standingOf(before) === standingOf({ ...now, label: null }) && this.#scene.purchaseOf(now)?.uid === uid
      : deletionTimestamp !== undefined;
    return isItsOwn && this.#isAdoptionAllowed(before);
  }

  #isAdoptionAllowed({ userId }: Contract): boolean {
    const accounts = this.#scene.accounts.ofLogin(userId);
    const isAllowed = (account: JsonObject) => objectAt(account, 'spec')['adoption'] === 'Unlabelled';
    return accounts.length > 0 && accounts.every(isAllowed);
  }

  #noteOverlaps(): void {
    const counts = new Map<string, number>();
    /** A repeated rental is known when lists show it, and is surplus then. */
    const repeated = new Set<string>();
    for (const contract of this.#scene.live()) {
      const uid = this.#scene.purchaseOf(contract)?.uid;
      if (uid === undefined || isLate(contract)) continue;
      counts.set(uid, (counts.get(uid) ?? 0) + 1);
      if (this.#scene.isRepeated(contract)) repeated.add(uid);
    }
    for (const uid of this.#overlapSince.keys())
      if ((counts.get(uid) ?? 0) < 2) this.#overlapSince.delete(uid);
    for (const [uid, count] of counts) {
      if (count < 2 || this.#scene.isHandled(uid) || this.#overlapSince.has(uid)) continue;
      this.#overlapSince.set(uid, this.#scene.now);
      if (this.#scene.strict && !repeated.has(uid)) this.#overlaps(uid);
    }
  }

  #overlaps(uid: string): void {
    this.#scene.broken('I2', `two or more machines of ${uid} live at once`);
    this.#scene.markHandled(uid);
    this.#overlapSince.delete(uid);
  }
}

/** Returns a key other than the uid, which the test searches in the memory of processes. */
const askedKey = (uid: string, attempt: number): string => `asked ${uid} ${attempt}`;
const goneKey = (uid: string): string => `gone ${uid}`;

const standingOf = ({ label, intendedStatus }: Contract): string => JSON.stringify([label, intendedStatus]);

/**
 * Returns true if its user has requested another machine since its rental. The service dates starts in whole seconds.
 */
function isToBeReplaced(object: JsonObject, { createdAt }: Contract): boolean {
  const annotations = objectAt(metadataOf(object), 'annotations');
  return Date.parse(textAt(annotations, 'gpurental.dev/replace-at') ?? '') > createdAt - 1000;
}

/** Returns the shorter of the two tolerated silences of an object. */
function patienceOf(object: JsonObject): number {
  const tolerance = objectAt(objectAt(objectAt(object, 'spec'), 'replacement'), 'tolerance');
  const bears = ['offline', 'unknown'].map((status) => parseDuration(String(tolerance[status])) ?? 0);
  return Math.min(...bears);
}

/** Fields that determine a machine. Other fields never cause a replacement. */
const MAKING = [
  'image',
  'imagePullSecretRef',
  'onStart',
  'onStartFrom',
  'command',
  'args',
  'entrypoint',
  'ssh',
];

/**
 * Returns true if a machine of that model is what the spec asks for: of what means the same in other words, and of a
 * further or wider alternative, none is another machine.
 */
const isBoughtAs = (spec: JsonObject, bought: Json | undefined, model: string): boolean =>
  isObject(bought) &&
  MAKING.every((field) => equalJson(spec[field], bought[field])) &&
  equalJson(inOneForm(spec), inOneForm(bought)) &&
  (equalJson(spec['offers'], bought['offers']) ||
    listAt(spec, 'offers').some((offer) => isObject(offer) && isSatisfied(offer, bought, model)));

function inOneForm(spec: JsonObject): JsonObject {
  const sorted = (field: string, name: (one: JsonObject) => string) =>
    listAt(spec, field)
      .filter(isObject)
      .map((one) => [name(one), one] as const)
      .sort(([left], [right]) => (left < right ? -1 : 1));
  return {
    disk: Math.ceil((parseQuantity(String(spec['disk'])) ?? 0) / 1e9),
    env: Object.fromEntries(sorted('env', ({ name }) => String(name))),
    ports: sorted('ports', ({ containerPort, protocol = 'TCP' }) => `${containerPort}/${protocol}`).map(
      ([port]) => port,
    ),
  };
}

/**
 * Returns true if the offer satisfies alternatives with a model and a type of price alone; for others nothing is
 * promised here.
 */
function isSatisfied(offer: JsonObject, bought: JsonObject, model: string): boolean {
  const { gpuNames, maxPricePerHour: _price, bid: _bid, allowUnknownPrice: _unknown, ...others } = offer;
  const [first] = listAt(bought, 'offers');
  if (!isObject(first)) return false;
  const { gpuNames: _models, maxPricePerHour: _max, bid: _own, allowUnknownPrice: _any, ...same } = first;
  return equalJson(others, same) && (gpuNames === undefined || listAt(offer, 'gpuNames').includes(model));
}

const isUpdatedOnDelete = (spec: JsonObject): boolean =>
  objectAt(spec, 'updateStrategy')['type'] === 'OnDelete';

function hasIntentFor(object: JsonObject, attempt: number): boolean {
  const intent = intentOf(object);
  return intent !== undefined && Number(intent['attempt']) >= attempt;
}

/** Returns true if the run of the object is over, or the result of its present machine is on record. */
function hasResult(object: JsonObject): boolean {
  const { run, attempt } = statusAt(object);
  const { outcome, settled } = isObject(run) ? run : {};
  return outcome !== undefined || (isObject(settled) && settled['attempt'] === attempt);
}
