import type { TransportRequest } from '../../src/lib/transport.ts';
import type { Contract } from '../../src/simulator/world.ts';
import {
  equalJson,
  isObject,
  type Json,
  type JsonObject,
  listAt,
  metadataOf,
  objectAt,
  textAt,
} from './memory-kube/json.ts';
import type { Commit } from './memory-kube/store.ts';
import { BY_HAND } from './users.ts';
import type { SimulatedWorld } from './world.ts';

/** A promise that was broken, with the moment. */
export interface Violation {
  readonly invariant: string;
  readonly second: number;
  readonly text: string;
}

/** Whose purchase a contract is, read from the label it was rented with. */
interface Purchase {
  readonly uid: string;
  readonly attempt: number;
}

export interface InvariantOptions {
  /** With pauses and a sweeper two machines may overlap for a while; without both, never. */
  readonly strict: boolean;
}

const OPERATOR_LABEL = /^gpurental1(?:-retained)?:[0-9a-f]{8}:([0-9a-f-]+):(\d+):\d+:[0-9a-f]+$/;
/** With frozen leaders a second machine may live until the surplus rule has seen and destroyed it. */
/** How long a list may show what was (the operator's `--list-lag`). */
const LIST_LAG_MS = 60_000;
const CLOCK_SKEW_MS = 60_000;
/** Late call and list lag together. */
const LABEL_WINDOW_MS = 180_000;
const DESTROY_PATH = /^\/api\/v0\/instances\/(\d+)\//;
const LOOSE_OVERLAP_MS = 300_000;

function purchaseOf(label: string | null): Purchase | undefined {
  const match = OPERATOR_LABEL.exec(label ?? '');
  return match ? { uid: match[1] ?? '', attempt: Number(match[2]) } : undefined;
}

/** Watches a simulated world after every step. The marketplace's own ledger is the oracle, never the operator. */
export class Invariants {
  readonly violations: Violation[] = [];
  /** Billed milliseconds per contract that nobody had claimed, that were surplus, or past a wanted deletion. */
  readonly wastedMs = new Map<number, number>();
  readonly #world: SimulatedWorld;
  readonly #options: InvariantOptions;
  readonly #seen = new Map<number, Contract>();
  readonly #purchases = new Map<string, number>();
  readonly #overlapSince = new Map<string, number>();
  readonly #handsOn = new Set<string>();
  readonly #foreign = new Map<number, string>();
  readonly #harmed = new Set<number>();
  readonly #objects = new Map<string, JsonObject>();
  readonly #released = new Set<string>();
  #lastAt: number;
  #lastWriteAt = 0;

  constructor(world: SimulatedWorld, options: InvariantOptions) {
    this.#world = world;
    this.#options = options;
    this.#lastAt = world.now;
    world.kube.store.onCommit((commit) => this.#onCommit(commit));
  }

  /** When something other than a lease was last written to the cluster. */
  get lastWriteAt(): number {
    return this.#lastWriteAt;
  }

  /** A person laid hands on that object, so that promises about hand-made states no longer hold for it. */
  handsOn(name: string): void {
    for (const [uid, object] of this.#objects) {
      if (metadataOf(object)['name'] === name) this.#handsOn.add(uid);
    }
  }

  /** A machine that is not ours, and has to stay as it is. */
  #addForeign(contract: Contract): void {
    if (this.#foreign.has(contract.id) || this.#harmed.has(contract.id)) return;
    this.#foreign.set(contract.id, JSON.stringify([contract.label, contract.intendedStatus]));
  }

  /** Another oracle found something wrong. */
  report(invariant: string, text: string): void {
    this.#broken(invariant, text);
  }

  isForeign(id: number): boolean {
    return this.#foreign.has(id);
  }

  /** Looks at everything that can be wrong now. */
  check(): void {
    const { contracts } = this.#world.market.store.current().tables;
    for (const contract of Object.values(contracts)) {
      if (contract.image === BY_HAND) this.#addForeign(contract);
    }
    const live = Object.values(contracts).filter(({ image }) => image !== BY_HAND);
    for (const contract of live) if (!this.#seen.has(contract.id)) this.#began(contract);
    for (const [id, contract] of this.#seen) if (!contracts[id]) this.#endedUnseen(contract);
    for (const contract of live) this.#seen.set(contract.id, contract);
    this.#checkForeign(contracts);
    this.#noteHealth(live);
    this.#checkDoubles(live);
    this.#countWaste(live);
    this.#lastAt = this.#world.now;
  }

  /** After the faults have stopped and time was given: what was wanted is there, and nothing else. */
  checkConverged(): void {
    const { contracts } = this.#world.market.store.current().tables;
    const mine = Object.values(contracts).filter(
      ({ image, label }) => purchaseOf(label) && image !== BY_HAND,
    );
    for (const contract of mine) {
      if (!fitsItsLabel(contract)) continue;
      const owner = this.#objects.get(purchaseOf(contract.label)?.uid ?? '');
      if (!owner) this.#broken('I1', `contract ${contract.id} still bills and no object claims it`);
      else if (objectAt(owner, 'status')['instanceId'] !== contract.id) {
        this.#broken('I2', `contract ${contract.id} is not the one that ${nameOf(owner)} records`);
      }
    }
    for (const object of this.#objects.values()) this.#checkReached(object, contracts);
  }

  #checkReached(object: JsonObject, contracts: Readonly<Record<number, Contract>>): void {
    const name = nameOf(object);
    if (metadataOf(object)['deletionTimestamp']) {
      this.#broken('ESR', `${name} is still being deleted`);
      return;
    }
    const status = objectAt(object, 'status');
    const contract = contracts[Number(status['instanceId'])];
    const wanted = objectAt(object, 'spec')['powerState'];
    const state = `status ${JSON.stringify({ phase: status['phase'], instanceId: status['instanceId'] })}`;
    if (wanted === 'Running' && contract?.actualStatus !== 'running') {
      this.#broken('ESR', `${name} wants to run and does not: ${state}, ${readyMessage(status)}`);
    }
    if (wanted === 'Stopped' && contract && this.#runs(contract)) {
      this.#broken('ESR', `${name} wants to be stopped and runs: ${state}`);
    }
    if (status['phase'] === 'Running' && !contract) {
      this.#broken('I14', `${name} claims to run on a machine that is gone`);
    }
  }

  /** A process sends that request, whatever becomes of it. */
  sent({ method, path, body }: TransportRequest): void {
    if (method === 'PUT' && path.startsWith('/api/v0/asks/')) this.#rentSent(body ?? '');
    const destroyed = method === 'DELETE' ? DESTROY_PATH.exec(path)?.[1] : undefined;
    if (destroyed !== undefined) this.#destroySent(Number(destroyed));
  }

  #rentSent(body: string): void {
    const request: unknown = JSON.parse(body);
    const purchase = isObject(request) ? purchaseOf(textAt(request, 'label') ?? null) : undefined;
    if (!purchase) return;
    const { uid, attempt } = purchase;
    const key = `${uid}/${attempt}`;
    const sent = (this.#purchases.get(key) ?? 0) + 1;
    this.#purchases.set(key, sent);
    if (sent > 1) this.#broken('I6', `attempt ${attempt} of ${uid} was sent ${sent} times`);
  }

  /** A destroy that is on its way may strike a machine that has recovered meanwhile: what counts is when it was sent. */
  #destroySent(id: number): void {
    const contract = this.#seen.get(id);
    const owner = contract && this.#objects.get(purchaseOf(contract.label)?.uid ?? '');
    if (!contract || !owner || !this.#isWorkingFor(owner, contract)) this.#excused.add(id);
    else if (this.#world.now - (this.#notWorkingAt.get(id) ?? Number.NEGATIVE_INFINITY) < LIST_LAG_MS) {
      this.#excused.add(id);
    }
  }

  /** When each machine was last seen not to work for its object: an operator may learn of its recovery that much later. */
  #noteHealth(live: readonly Contract[]): void {
    for (const contract of live) {
      const owner = this.#objects.get(purchaseOf(contract.label)?.uid ?? '');
      if (owner && !this.#isWorkingFor(owner, contract)) {
        this.#notWorkingAt.set(contract.id, this.#world.now);
      }
    }
  }

  /** Only a machine that can be reached can be stopped; of a silent one the object just says so. */
  #runs({ actualStatus, intendedStatus, machineId }: Contract): boolean {
    const machine = this.#world.market.store.current().tables.machines[machineId];
    return actualStatus === 'running' && intendedStatus === 'running' && machine?.state === 'up';
  }

  #began(contract: Contract): void {
    const purchase = purchaseOf(contract.label);
    this.#world.tell(
      `contract ${contract.id} begins on host ${contract.hostId} (${purchase?.uid.slice(0, 4)} attempt ${purchase?.attempt})`,
    );
    if (!purchase) return;
    const { uid, attempt } = purchase;
    this.#boughtFor.set(contract.id, this.#objects.get(uid)?.['spec']);
    if (this.#handsOn.has(uid)) return;
    const owner = this.#objects.get(uid);
    if (owner && !hasIntentFor(owner, attempt)) {
      this.#broken('I5', `contract ${contract.id} was rented before its intent stood on the object`);
    }
    if (this.#released.has(uid)) {
      this.#broken('I7', `contract ${contract.id} appeared after the finalizer of its object was removed`);
    }
  }

  #endedUnseen(contract: Contract): void {
    this.#seen.delete(contract.id);
    this.#world.tell(`contract ${contract.id} ends`);
    if (this.#elsewhere.delete(contract.id) || this.#excused.delete(contract.id)) return;
    const uid = purchaseOf(contract.label)?.uid;
    const owner = uid === undefined ? undefined : this.#objects.get(uid);
    if (!owner || uid === undefined || this.#handsOn.has(uid)) return;
    if (this.#isWorkingFor(owner, contract)) {
      this.#broken('I4', `contract ${contract.id} was destroyed while ${nameOf(owner)} wanted it and it ran`);
    }
  }

  readonly #elsewhere = new Set<number>();
  /** Contracts that were not at work when a process sent their destroy. */
  readonly #excused = new Set<number>();
  /** The spec that stood when a contract began: one of another spec may be replaced. */
  readonly #boughtFor = new Map<number, Json | undefined>();
  readonly #notWorkingAt = new Map<number, number>();

  /** Somebody else ends that contract, in the console. */
  destroyedElsewhere(id: number): void {
    this.#elsewhere.add(id);
  }

  /** Whether that contract is what the object records and wants, and does its work. */
  #isWorkingFor(object: JsonObject, contract: Contract): boolean {
    const status = objectAt(object, 'status');
    const spec = objectAt(object, 'spec');
    const machine = this.#world.market.store.current().tables.machines[contract.machineId];
    return (
      metadataOf(object)['deletionTimestamp'] === undefined &&
      status['instanceId'] === contract.id &&
      spec['powerState'] === 'Running' &&
      contract.image === spec['image'] &&
      equalJson(this.#boughtFor.get(contract.id), withoutPower(spec, this.#boughtFor.get(contract.id))) &&
      contract.actualStatus === 'running' &&
      contract.intendedStatus === 'running' &&
      machine?.state === 'up'
    );
  }

  #checkForeign(contracts: Readonly<Record<number, Contract>>): void {
    for (const [id, before] of this.#foreign) {
      const contract = contracts[id];
      const now = contract ? JSON.stringify([contract.label, contract.intendedStatus]) : 'destroyed';
      if (now === before) continue;
      this.#foreign.delete(id);
      this.#harmed.add(id);
      this.#broken('I3', `contract ${id}, which is not ours, changed from ${before} to ${now}`);
    }
  }

  #checkDoubles(live: readonly Contract[]): void {
    const byUid = new Map<string, number>();
    for (const { label } of live) {
      const uid = purchaseOf(label)?.uid;
      if (uid !== undefined) byUid.set(uid, (byUid.get(uid) ?? 0) + 1);
    }
    for (const uid of this.#overlapSince.keys())
      if ((byUid.get(uid) ?? 0) < 2) this.#overlapSince.delete(uid);
    for (const [uid, count] of byUid) {
      if (count < 2 || this.#handsOn.has(uid)) continue;
      const since = this.#overlapSince.get(uid) ?? this.#world.now;
      this.#overlapSince.set(uid, since);
      const isTooLong = this.#world.now - since > LOOSE_OVERLAP_MS;
      if (this.#options.strict || isTooLong) {
        this.#broken('I2', `${count} machines of ${uid} live at once`);
        this.#handsOn.add(uid);
      }
    }
  }

  #countWaste(live: readonly Contract[]): void {
    const passed = this.#world.now - this.#lastAt;
    if (passed <= 0) return;
    for (const contract of live) {
      const uid = purchaseOf(contract.label)?.uid;
      if (uid === undefined) continue;
      const owner = this.#objects.get(uid);
      const isClaimed =
        owner !== undefined &&
        metadataOf(owner)['deletionTimestamp'] === undefined &&
        objectAt(owner, 'status')['instanceId'] === contract.id;
      if (!isClaimed) this.wastedMs.set(contract.id, (this.wastedMs.get(contract.id) ?? 0) + passed);
    }
  }

  #onCommit(commit: Commit): void {
    const { kind, object, type } = commit;
    if (kind.plural !== 'leases') {
      this.#lastWriteAt = this.#world.now;
      this.#world.tell(`cluster: ${type} ${kind.plural} ${nameOf(object)} at ${commit.revision}`);
    }
    if (kind.plural !== 'gpuinstances') return;
    const uid = String(metadataOf(object)['uid']);
    const before = this.#objects.get(uid);
    if (type === 'DELETED') {
      this.#objects.delete(uid);
      this.#checkRelease(uid, object);
      return;
    }
    this.#objects.set(uid, object);
    if (before && !this.#handsOn.has(uid)) this.#checkAttempts(before, object);
  }

  #checkRelease(uid: string, object: JsonObject): void {
    if (this.#handsOn.has(uid)) return;
    this.#released.add(uid);
    const { contracts } = this.#world.market.store.current().tables;
    const left = Object.values(contracts).filter(
      ({ image, label }) => purchaseOf(label)?.uid === uid && image !== BY_HAND,
    );
    for (const contract of left) {
      this.#broken('I7', `${nameOf(object)} was let go while contract ${contract.id} lives`);
    }
  }

  #checkAttempts(before: JsonObject, after: JsonObject): void {
    const attempt = (object: JsonObject) => Number(objectAt(object, 'status')['attempt'] ?? 0);
    if (attempt(after) < attempt(before)) {
      this.#broken('I8', `the attempt of ${nameOf(after)} fell from ${attempt(before)} to ${attempt(after)}`);
    }
  }

  #broken(invariant: string, text: string): void {
    this.violations.push({ invariant, second: this.#world.second, text });
    this.#world.tell(`VIOLATION ${invariant}: ${text}`);
  }
}

/**
 * Whether a machine began when its label says. A process whose clock is wrong by more than a minute labels
 * machines that no label proves to be ours: they are reported and never touched (design: `LabelCopied`).
 */
function fitsItsLabel({ label, createdAt }: Contract): boolean {
  const issuedAt = Number(/:(\d+):[0-9a-f]+$/.exec(label ?? '')?.[1]);
  return createdAt >= issuedAt - CLOCK_SKEW_MS && createdAt <= issuedAt + LABEL_WINDOW_MS;
}

/** A spec with the power state that another one has: stopping and starting replace nothing. */
function withoutPower(spec: JsonObject, other: Json | undefined): JsonObject {
  const powerState = isObject(other) ? other['powerState'] : undefined;
  return powerState === undefined ? spec : { ...spec, powerState };
}

const nameOf = (object: JsonObject): string => String(metadataOf(object)['name']);

function hasIntentFor(object: JsonObject, attempt: number): boolean {
  const annotation = textAt(objectAt(metadataOf(object), 'annotations'), 'gpurental.dev/rental-intent');
  if (annotation === undefined) return false;
  const intent: unknown = JSON.parse(annotation);
  return isObject(intent) && Number(intent['attempt']) >= attempt;
}

function readyMessage(status: JsonObject): string {
  const ready = listAt(status, 'conditions').find((one) => isObject(one) && one['type'] === 'Ready');
  return isObject(ready)
    ? `Ready ${String(ready['reason'])}: ${String(ready['message'])}`
    : 'no Ready condition';
}
