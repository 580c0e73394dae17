import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { isObject, type JsonObject, listAt, metadataOf, objectAt } from '../memory-kube/json.ts';
import { endedWith } from '../programs.ts';
import { statusAt } from '../status-at.ts';
import type { Purchase } from './purchase.ts';
import { conditionOf, nameOf, type Scene } from './scene.ts';

/** Time for the destroy of the machine after the condition that reports success. */
const ENDS_WITHIN_MS = 60_000;
/** Lists show the state of a host at most this much later. */
const LIST_LAG_MS = 60_000;
/** Results that the exit code of a program gives. */
const BY_EXIT_CODE: ReadonlySet<unknown> = new Set(['Completed', 'RunFailed', 'BackoffLimit']);

/**
 * R1: the machine of a run that succeeded ends within a minute, unless `onSuccess` keeps it. R3: nothing is rented for a
 * run after its end. R4: a recorded exit code is that of the program on the machine of this rental. R5: a run rents at most
 * 1 + backoffLimit + lostLimit machines, in addition to those that a person requests. R6: no machine is destroyed whose
 * program has ended before its result is on record or given up; a host that stays silent is given up.
 */
export class RunWatch {
  readonly #scene: Scene;
  readonly #rented = new Map<string, Set<number>>();
  /** When the hosts of machines were last silent. */
  readonly #silentAt = new Map<number, number>();
  readonly #succeededAt = new Map<string, number>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Records a sent rent call. */
  rentSent({ uid, attempt }: Purchase): void {
    const object = this.#scene.objects.get(uid);
    const completion = completionOf(object);
    if (!object || !completion || this.#scene.isHandled(uid)) return;
    const outcome = runOf(object)['outcome'];
    if (outcome !== undefined)
      this.#scene.broken(
        'R3',
        `a machine is rented for ${nameOf(object)}, whose run ended: ${String(outcome)}`,
      );
    const attempts = this.#rented.get(uid) ?? new Set<number>();
    this.#rented.set(uid, attempts.add(attempt));
    const asked = listAt(statusAt(object), 'history').filter(
      (past) => isObject(past) && past['reason'] === 'ReplaceRequested',
    ).length;
    const max = 1 + Number(completion['backoffLimit']) + Number(completion['lostLimit']) + asked;
    const used = Number(runOf(object)['attempts'] ?? 0) + 1;
    if (used > max) this.#scene.broken('R5', `${nameOf(object)} rents machine ${used} of at most ${max}`);
  }

  /** Records a written object. */
  rewritten(before: JsonObject, after: JsonObject): void {
    if (!completionOf(after)) return;
    const uid = String(metadataOf(after)['uid']);
    const succeeded = conditionOf(after, 'Succeeded')?.['status'] === 'True';
    if (!succeeded) this.#succeededAt.delete(uid);
    else if (!this.#succeededAt.has(uid)) this.#succeededAt.set(uid, this.#scene.now);
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

  elapsed(): void {
    for (const contract of this.#scene.live())
      if (contract.env['GPURENTAL_RUN'] !== undefined && !this.#scene.isUp(contract))
        this.#silentAt.set(contract.id, this.#scene.now);
    for (const [uid, at] of this.#succeededAt) {
      const object = this.#scene.objects.get(uid);
      if (!object || this.#scene.now - at < ENDS_WITHIN_MS) continue;
      if (completionOf(object)?.['onSuccess'] !== 'Destroy') continue;
      const bills = this.#scene.live().find((contract) => this.#scene.ownerOf(contract) === object);
      if (!bills) continue;
      this.#succeededAt.delete(uid);
      this.#scene.broken('R1', `machine ${bills.id} bills a minute after ${nameOf(object)} succeeded`);
    }
  }
}

function completionOf(object: JsonObject | undefined): JsonObject | undefined {
  const completion = object && objectAt(object, 'spec')['completion'];
  return isObject(completion) ? completion : undefined;
}

function runOf(object: JsonObject): JsonObject {
  return objectAt(statusAt(object), 'run');
}

function settledOf(object: JsonObject): JsonObject {
  return objectAt(runOf(object), 'settled');
}

/** Returns the exit code that a machine shows for its rental, by file or log. */
function shownCode(contract: Contract): number | undefined {
  const line = new RegExp(`^gpurental ${contract.env['GPURENTAL_RUN']} exit (\\d+)$`);
  const logged = (contract.output ?? []).flatMap((text) => line.exec(text)?.[1] ?? []).map(Number);
  return logged.at(-1) ?? endedWith(contract);
}
