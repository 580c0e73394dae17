import { labels } from '../../../src/api/v1alpha1/names.ts';
import { parseDuration } from '../../../src/lib/time.ts';
import type { TransportRequest } from '../../../src/lib/transport.ts';
import { isUsed } from '../../../src/simulator/instances/instance-row.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import type { Machine } from '../machine.ts';
import { isObject, type JsonObject, listAt, metadataOf, objectAt, textAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { holdsSweep } from './accounts.ts';
import type { Shortfall } from './converged.ts';
import type { ShownList } from './newest-lists.ts';
import { intentOf } from './purchase.ts';
import { conditionOf, nameOf, type Scene } from './scene.ts';

/** Time after its start for which a machine counts as in use. */
const WARM_UP_MS = 900_000;
/** A use that began so shortly before is not known to a process that has just read the machine. */
const UNKNOWN_MS = 30_000;
/** A process sends a call within this time after a list that it has read. */
const HEEDED_MS = 2_000;
/** Times on record are whole seconds. */
const ROUNDING_MS = 1_000;
/** A process sees the end of a use at the next list, and its check comes at most a minute later. */
const NOTICED_MS = 240_000;
const CHANGE_PATH = /^\/api\/v0\/instances\/([1-9]\d*)\/$/;
const EXTEND = 'gpurental.dev/idle-extend-until';
const HOLD = 'gpurental.dev/hold';

/** Use of a machine, by the marketplace itself and by the lists that processes have read. */
interface Use {
  /** Start of the present run; undefined while it does not run. */
  runningSince: number | undefined;
  /** Start of the present use; undefined while it is idle. */
  usedSince: number | undefined;
  /** Last time at which it was in use. */
  usedAt: number;
  /** When the last list that showed no idleness was read, and the one before it. */
  shownAt: readonly [last: number, before: number];
}

interface Policy {
  readonly action: 'Stop' | 'Destroy';
  readonly afterMs: number;
  readonly warningMs: number;
}

/**
 * I16: no machine ends for idleness that is in use, or was by a list within `spec.idle.after`, whose warning is
 * missing, or that a person keeps; and one that is idle for long ends. A use that lists never showed cannot be known.
 */
export class IdleWatch {
  readonly #scene: Scene;
  readonly #uses = new Map<number, Use>();
  /** Start of the idle time and of its warning, by object. */
  readonly #warned = new Map<string, { readonly idleSince: unknown; readonly at: number }>();
  readonly #readers = new WeakSet<Machine>();
  /** Last time at which lists failed or were wrong, or another process began: it counts idle time from then. */
  #disturbedAt = Number.NEGATIVE_INFINITY;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  elapsed(): void {
    if (![...this.#scene.objects.values()].some((object) => objectAt(object, 'spec')['idle'] !== undefined))
      return;
    for (const contract of this.#scene.live()) this.#noteUse(contract);
  }

  disturbed(): void {
    this.#disturbedAt = this.#scene.now;
  }

  listRead(machine: Machine, shown: ShownList | undefined): void {
    if (!this.#readers.has(machine)) this.disturbed();
    this.#readers.add(machine);
    if (!shown) return;
    for (const [id, use] of this.#uses) {
      const contract = this.#scene.contracts()[id];
      const owner = contract && this.#scene.ownerOf(contract);
      if (!owner || isShownIdle(shown.get(id), belowOf(owner))) continue;
      use.shownAt = [this.#scene.now, use.shownAt[0]];
    }
  }

  /** Records a written object: the start of a warning, and the decision to end its machine. */
  rewritten(before: JsonObject, after: JsonObject): void {
    const key = keyOf(after);
    const { idle, idleEndedAt } = statusAt(after);
    const { since, endsAt } = isObject(idle) ? idle : {};
    if (endsAt === undefined) this.#warned.delete(key);
    else if (this.#warned.get(key)?.idleSince !== since)
      this.#warned.set(key, { idleSince: since, at: this.#scene.now });
    if (idleEndedAt !== undefined && idleEndedAt !== statusAt(before)['idleEndedAt'])
      this.#checkRestraints(after);
    if (attemptOf(after) > attemptOf(before)) this.#checkPurchase(after);
  }

  /** Records a sent destroy. */
  destroySent(id: number): void {
    const owner = this.#ownerOf(id);
    if (owner && conditionOf(owner, 'Ready')?.['reason'] === 'Idle') this.#checkEnd(owner, id, 'destroyed');
  }

  /** Records a sent change of a machine. */
  changeSent({ method, path, body = '' }: TransportRequest): void {
    const id = method === 'PUT' ? Number(CHANGE_PATH.exec(path)?.[1]) : Number.NaN;
    const owner = this.#ownerOf(id);
    if (!owner || !body.includes('"stopped"')) return;
    const isByIdle = statusAt(owner)['idleEndedAt'] !== undefined;
    if (isByIdle && objectAt(owner, 'spec')['powerState'] !== 'Stopped') this.#checkEnd(owner, id, 'stopped');
  }

  /** Returns the machines that were idle for so long that they must have ended. */
  shortfalls(): readonly Shortfall[] {
    return this.#scene.live().flatMap((contract) => {
      const owner = this.#scene.ownerOf(contract);
      const policy = owner && policyOf(owner);
      const use = this.#uses.get(contract.id);
      if (!owner || !policy || use?.runningSince === undefined || this.#isKept(owner)) return [];
      const since = Math.max(use.runningSince, this.#disturbedAt) + WARM_UP_MS;
      const counted = Math.max(use.usedAt, use.shownAt[0], since);
      const extended = Date.parse(annotationOf(owner, EXTEND) ?? '') || 0;
      const due = Math.max(counted + policy.afterMs, extended) + policy.warningMs + NOTICED_MS;
      if (this.#scene.now < due) return [];
      const idleFor = Math.round((this.#scene.now - use.usedAt) / 1000);
      const text = `contract ${contract.id} of ${nameOf(owner)} has been idle for ${idleFor} s and still runs`;
      return [{ invariant: 'I16', text }];
    });
  }

  #ownerOf(id: number): JsonObject | undefined {
    const contract = this.#scene.contracts()[id];
    const owner = contract && this.#scene.ownerOf(contract);
    if (!owner || metadataOf(owner)['deletionTimestamp'] !== undefined) return undefined;
    return this.#scene.isHandled(String(metadataOf(owner)['uid'])) ? undefined : owner;
  }

  #noteUse(contract: Contract): void {
    const { now } = this.#scene;
    const isRunning = contract.actualStatus === 'running' && this.#scene.isUp(contract);
    const isInUse = !isRunning || isUsed(contract, this.#scene.world.market.store.current().now);
    const before = this.#uses.get(contract.id);
    this.#uses.set(contract.id, {
      runningSince: isRunning ? (before?.runningSince ?? now) : undefined,
      usedSince: isInUse ? (before?.usedSince ?? now) : undefined,
      usedAt: isInUse || !before ? now : before.usedAt,
      shownAt: before?.shownAt ?? [now, now],
    });
  }

  #checkEnd(owner: JsonObject, id: number, what: string): void {
    const why = this.#objection(owner, id);
    if (why === undefined) return;
    this.#scene.broken('I16', `contract ${id} of ${nameOf(owner)} was ${what} for idleness although ${why}`);
  }

  /** Returns the reason why the machine must not end for idleness now. */
  #objection(owner: JsonObject, id: number): string | undefined {
    const { now } = this.#scene;
    const policy = policyOf(owner);
    if (!policy) return 'its object asks for no end, or is a worker of a group';
    const use = this.#uses.get(id);
    if (use?.runningSince === undefined) return undefined;
    const usedMs = now - (use.usedSince ?? now);
    if (usedMs >= UNKNOWN_MS) return `it has been in use for ${usedMs / 1000} s`;
    const [last, previous] = use.shownAt;
    const idleMs = now - (now - last < HEEDED_MS ? previous : last);
    if (idleMs < policy.afterMs - ROUNDING_MS) return `a list showed its use ${idleMs / 1000} s before`;
    const ranMs = now - use.runningSince;
    if (ranMs < WARM_UP_MS + policy.afterMs - ROUNDING_MS) return `it has run for ${ranMs / 1000} s only`;
    const warnedMs = now - (this.#warned.get(keyOf(owner))?.at ?? now);
    const isWarned = warnedMs >= policy.warningMs - ROUNDING_MS;
    return isWarned ? undefined : `it was warned of ${warnedMs / 1000} s before`;
  }

  /** Checks that no machine follows one that ended for idleness before a person asks for it. */
  #checkPurchase(object: JsonObject): void {
    const { reason, endedAt } = listAt(statusAt(object), 'history').filter(isObject).at(-1) ?? {};
    const extended = Date.parse(annotationOf(object, EXTEND) ?? '') || 0;
    const isAsked = extended > Date.parse(String(endedAt)) - UNKNOWN_MS;
    if (reason !== 'Idle' || isAsked || !policyOf(object)) return;
    const text = `${nameOf(object)} rents another machine although the last one ended for idleness`;
    this.#scene.broken('I16', text);
  }

  #checkRestraints(object: JsonObject): void {
    const until = annotationOf(object, EXTEND);
    const end = until === undefined ? 0 : Date.parse(until);
    const isExtended = Number.isNaN(end) || end > this.#scene.now + UNKNOWN_MS;
    const isPaused = objectAt(object, 'spec')['paused'] === true;
    const kept = annotationOf(object, HOLD) !== undefined ? 'held' : isPaused ? 'paused' : 'extended';
    if (kept === 'extended' && !isExtended) return;
    this.#scene.broken('I16', `the machine of ${nameOf(object)} ends for idleness although it is ${kept}`);
  }

  #isKept(owner: JsonObject): boolean {
    const { paused, powerState } = objectAt(owner, 'spec');
    const until = annotationOf(owner, EXTEND);
    const isExtended = until !== undefined && Number.isNaN(Date.parse(until));
    const isHeld = annotationOf(owner, HOLD) !== undefined || holdsSweep(this.#scene.accountOf(owner));
    return isHeld || isExtended || paused === true || powerState === 'Stopped';
  }
}

/** Returns the policy that ends machines; undefined without one, and for workers. */
function policyOf(object: JsonObject): Policy | undefined {
  const { after, action, warning } = objectAt(objectAt(object, 'spec'), 'idle');
  const isWorker = objectAt(metadataOf(object), 'labels')[labels.endpointGroup] !== undefined;
  if (isWorker || (action !== 'Stop' && action !== 'Destroy')) return undefined;
  return {
    action,
    afterMs: parseDuration(String(after)) ?? 0,
    warningMs: parseDuration(String(warning)) ?? 0,
  };
}

const belowOf = (object: JsonObject): number =>
  Number(objectAt(objectAt(object, 'spec'), 'idle')['below'] ?? 0);

/** Returns true if a list shows a machine as running, with a figure below that percent. */
function isShownIdle(row: ReturnType<ShownList['get']>, below: number): boolean {
  const { status, utilization } = row ?? {};
  return status === 'running' && typeof utilization === 'number' && utilization < below;
}

const annotationOf = (object: JsonObject, name: string): string | undefined =>
  textAt(objectAt(metadataOf(object), 'annotations'), name);

const attemptOf = (object: JsonObject): number => Number(intentOf(object)?.['attempt'] ?? 0);

/** Returns a key other than the uid, which the test searches in the memory of processes. */
const keyOf = (object: JsonObject): string => `idle ${String(metadataOf(object)['uid'])}`;
