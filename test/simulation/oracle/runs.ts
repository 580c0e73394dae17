import type { OwnerObject } from '../../../src/cli/job/run-owner.ts';
import { monthName } from '../../../src/instance/cost.ts';
import type { LedgerData } from '../../../src/ledger/codec.ts';
import { readLedger } from '../../../src/ledger/storage.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { isOver } from '../job-relays.ts';
import { idAt, type JsonObject, metadataOf, objectAt, objectsAt, textAt } from '../memory-kube/json.ts';
import { endedWith } from '../programs.ts';
import { offers } from '../simulated-market.ts';
import { statusAt } from '../status-at.ts';
import type { Shortfall } from './converged.ts';
import { isLate, type Purchase } from './purchase.ts';
import { BY_EXIT_CODE, completionOf, isToDestroy, runOf, settledOf } from './run-state.ts';
import { conditionOf, nameOf, type Scene } from './scene.ts';

/** Time for the destroy of the machine after the condition that reports success. */
const ENDS_WITHIN_MS = 60_000;
/** Lists show the state of a host at most this much later. */
const LIST_LAG_MS = 60_000;

/** Ends of machines that a person asked for. */
const CHOSEN: ReadonlySet<unknown> = new Set(['ReplaceRequested', 'PriceRaised', 'SpecChanged', 'Idle']);
const CANCEL = 'gpurental.dev/cancel-at';
const JOB_RUN = 'gpurental.dev/job-run';

/**
 * R1: the machine of a run that succeeded ends within a minute, unless `onSuccess` keeps it. R3: nothing is rented for a
 * run after its end, or at a market whose machines cannot stop themselves. R4: a recorded exit code is that of the program
 * on the machine of this rental. R5: a run rents at most 1 + backoffLimit + lostLimit machines, in addition to those that
 * a person requests. R6: no machine is destroyed whose program has ended before its result is on record or given up; a host
 * that stays silent is given up. R7: the ledger has each machine once that ended. R8: a result that a machine shows ends
 * the run on it. R11: of the objects of one Job, one has a machine. R12: the run of a Job that goes on is neither cancelled
 * nor deleted. I2 holds for the machines of runs as for any others.
 */
export class RunWatch {
  readonly #scene: Scene;
  /** Machines of runs that objects have recorded, with the object. */
  readonly #recorded = new Map<number, string>();
  /** Number of machines that ended by request, by run. */
  readonly #chosen = new Map<string, number>();
  readonly #endedAt = new Map<string, unknown>();
  /** When the hosts of machines were last silent. */
  readonly #silentAt = new Map<number, number>();
  readonly #succeededAt = new Map<string, number>();
  #removedAt: number | undefined;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Records a sent rent call. */
  rentSent({ uid }: Purchase): void {
    const object = this.#scene.objects.get(uid);
    const completion = completionOf(object);
    if (!object || !completion || this.#scene.isHandled(uid)) return;
    const outcome = runOf(object)['outcome'];
    if (!offers(this.#scene.world.facts, 'selfEnd'))
      this.#scene.broken('R3', `a machine that cannot stop itself is rented for the run ${nameOf(object)}`);
    if (outcome !== undefined)
      this.#scene.broken(
        'R3',
        `a machine is rented for ${nameOf(object)}, whose run ended: ${String(outcome)}`,
      );
    const asked = this.#chosen.get(runKey(uid)) ?? 0;
    const max = 1 + Number(completion['backoffLimit']) + Number(completion['lostLimit']) + asked;
    const used = Number(runOf(object)['attempts'] ?? 0) + 1;
    if (used > max) this.#scene.broken('R5', `${nameOf(object)} rents machine ${used} of at most ${max}`);
  }

  /** Records a written object. */
  rewritten(before: JsonObject, after: JsonObject): void {
    if (!completionOf(after)) return;
    const uid = String(metadataOf(after)['uid']);
    this.#noteMachines(uid, after);
    this.#checkOwner(before, after);
    const succeeded = conditionOf(after, 'Succeeded')?.['status'] === 'True';
    if (!succeeded) this.#succeededAt.delete(runKey(uid));
    else if (!this.#succeededAt.has(runKey(uid))) this.#succeededAt.set(runKey(uid), this.#scene.now);
    const [was, is] = [settledOf(before), settledOf(after)];
    if (is['attempt'] === was['attempt'] || !BY_EXIT_CODE.has(is['reason'])) return;
    const contract = this.#scene.contracts()[Number(statusAt(after)['instanceId'])];
    const { exitCode } = runOf(after);
    const truth = contract && shownCode(contract);
    if (truth !== exitCode)
      this.#scene.broken(
        'R4',
        `${nameOf(after)} has exit code ${String(exitCode)} on record, and its machine shows ${String(truth)}`,
      );
  }

  /** Records a sent destroy. */
  destroySent(id: number): void {
    const contract = this.#scene.contracts()[id];
    const owner = contract && this.#scene.ownerOf(contract);
    if (!owner || !completionOf(owner) || metadataOf(owner)['deletionTimestamp'] !== undefined) return;
    const { attempt, instanceId } = statusAt(owner);
    if (Number(instanceId) !== id || shownCode(contract) === undefined) return;
    const isSilent = this.#scene.now - (this.#silentAt.get(id) ?? Number.NEGATIVE_INFINITY) < LIST_LAG_MS;
    if (isSilent) return;
    if (settledOf(owner)['attempt'] !== attempt && runOf(owner)['outcome'] === undefined)
      this.#scene.broken(
        'R6',
        `machine ${id} of ${nameOf(owner)} is destroyed, and its result is not on record`,
      );
  }

  /** Checks the Jobs after machines or objects have changed. */
  changed(): void {
    const holders = new Map<string, string>();
    for (const contract of this.#scene.live()) {
      const owner = this.#scene.ownerOf(contract);
      const job = owner && textAt(objectAt(metadataOf(owner), 'labels'), JOB_RUN);
      if (!owner || job === undefined || this.#isRepeat(contract)) continue;
      const other = holders.get(job);
      holders.set(job, nameOf(owner));
      if (other !== undefined && other !== nameOf(owner))
        this.#scene.broken('R11', `${other} and ${nameOf(owner)} of one Job have machines`);
    }
  }

  /** Results that have no effect once all is calm, and machines that the ledger lacks or has twice. */
  shortfalls(): readonly Shortfall[] {
    return [...this.#unsettled(), ...this.#miscounted()];
  }

  #unsettled(): readonly Shortfall[] {
    return this.#scene.live().flatMap((contract) => {
      const owner = this.#scene.ownerOf(contract);
      if (!owner || !completionOf(owner) || this.#scene.isHandled(String(metadataOf(owner)['uid'])))
        return [];
      const { attempt, instanceId } = statusAt(owner);
      if (Number(instanceId) !== contract.id || objectAt(owner, 'spec')['powerState'] !== 'Running')
        return [];
      const code = shownCode(contract);
      const { outcome } = runOf(owner);
      const isSettled = settledOf(owner)['attempt'] === attempt || outcome !== undefined;
      const text = `machine ${contract.id} of ${nameOf(owner)}`;
      if (code !== undefined && !isSettled)
        return [{ invariant: 'R8', text: `${text} shows exit code ${code}, which is not on record` }];
      if (outcome !== undefined && isToDestroy(owner))
        return [{ invariant: 'R8', text: `${text} lives on after the run ended: ${String(outcome)}` }];
      return [];
    });
  }

  #miscounted(): readonly Shortfall[] {
    const { kube, market } = this.#scene.world;
    const maps = kube.store.all(kube.kind('configmaps')).map((map) => [nameOf(map), objectAt(map, 'data')]);
    const month = monthName(this.#scene.now);
    const ledger = readLedger(new Map(maps as [string, LedgerData][]), month);
    const entries = [...ledger.values()].flatMap((each) => each.entries);
    const { endedContracts } = market.store.current().tables;
    return [...this.#recorded].flatMap(([id, key]) => {
      if (!endedContracts[id] || this.#scene.isHandled(uidIn(key))) return [];
      const times = entries.filter(({ machine, uid }) => machine === String(id) && uid === uidIn(key)).length;
      if (times === 1) return [];
      return [{ invariant: 'R7', text: `the ledger has machine ${id} of a run ${times} times` }];
    });
  }

  #noteMachines(uid: string, object: JsonObject): void {
    const status = statusAt(object);
    const id = idAt(status, 'instanceId');
    if (id !== undefined && status['unconfirmed'] !== true) this.#recorded.set(id, runKey(uid));
    const last = objectsAt(status, 'history').at(-1);
    if (last === undefined || last['endedAt'] === this.#endedAt.get(runKey(uid))) return;
    this.#endedAt.set(runKey(uid), last['endedAt']);
    if (CHOSEN.has(last['reason'])) this.#chosen.set(runKey(uid), (this.#chosen.get(runKey(uid)) ?? 0) + 1);
  }

  #checkOwner(before: JsonObject, after: JsonObject): void {
    const [reference] = objectsAt(metadataOf(after), 'ownerReferences');
    if (textAt(objectAt(metadataOf(after), 'labels'), JOB_RUN) === undefined || !reference) return;
    const isEnded = (object: JsonObject) =>
      metadataOf(object)['deletionTimestamp'] !== undefined ||
      objectAt(metadataOf(object), 'annotations')[CANCEL] !== undefined;
    if (
      this.#removedAt === this.#scene.now ||
      isEnded(before) ||
      !isEnded(after) ||
      runOf(after)['outcome'] !== undefined
    )
      return;
    const { kube } = this.#scene.world;
    // The Pods of a Job have its name and a number.
    const isIts = (job: JsonObject) => textAt(reference, 'name')?.replace(/-\d+$/, '') === nameOf(job);
    const isNamed = (job: JsonObject) => textAt(reference, 'name') === nameOf(job);
    const isPod = reference['kind'] === 'Pod';
    const job = kube.store.all(kube.kind('jobs')).find(isPod ? isIts : isNamed);
    if (job && !isOver(job as unknown as OwnerObject))
      this.#scene.broken('R12', `${nameOf(after)} is ended, and its Job ${nameOf(job)} goes on`);
  }

  /** Records that a person is about to remove all objects, those of Jobs as well. */
  removedInMass(): void {
    this.#removedAt = this.#scene.now;
  }

  /** Returns true if the service carried the rental out late, or twice: it is surplus, which another oracle bounds. */
  #isRepeat(contract: Contract): boolean {
    return isLate(contract) || this.#scene.isRepeated(contract);
  }

  elapsed(): void {
    for (const contract of this.#scene.live())
      if (contract.env['GPURENTAL_RUN'] !== undefined && !this.#scene.isUp(contract))
        this.#silentAt.set(contract.id, this.#scene.now);
    for (const [key, at] of this.#succeededAt) {
      const object = this.#scene.objects.get(uidIn(key));
      if (!object || this.#scene.now - at < ENDS_WITHIN_MS) continue;
      if (completionOf(object)?.['onSuccess'] !== 'Destroy') continue;
      const bills = this.#scene
        .live()
        .find((contract) => this.#scene.ownerOf(contract) === object && !this.#isRepeat(contract));
      if (!bills) continue;
      this.#succeededAt.delete(key);
      this.#scene.broken('R1', `machine ${bills.id} bills a minute after ${nameOf(object)} succeeded`);
    }
  }
}

/** Returns a key other than the uid, which the test searches in the memory of processes. */
const runKey = (uid: string): string => `run ${uid}`;
const uidIn = (key: string): string => key.slice('run '.length);

/** Returns the exit code that a machine shows for its rental, by file or log. */
function shownCode(contract: Contract): number | undefined {
  const line = new RegExp(`^gpurental ${contract.env['GPURENTAL_RUN']} exit (\\d+)$`);
  const logged = (contract.output ?? []).flatMap((text) => line.exec(text)?.[1] ?? []).map(Number);
  return logged.at(-1) ?? endedWith(contract);
}
