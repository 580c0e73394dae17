import { seededRandom } from '../../../src/lib/random.ts';
import { Invariants } from '../invariants.ts';
import { Failure } from '../memory-kube/failure.ts';
import { equalJson, isObject, type JsonObject, listAt, metadataOf, objectAt } from '../memory-kube/json.ts';
import type { Outcome } from '../outcome.ts';
import { statusAt } from '../status-at.ts';
import { Users } from '../users.ts';
import { NAMESPACE, SimulatedWorld } from '../world.ts';
import { applyEdit } from './edit.ts';
import type { SequencePlan, Step } from './plans.ts';

const SECOND = 1000;
const READY_WITHIN = 240;
const GONE_WITHIN = 600;

/** State of an object, without counters of replacements and fields that change by themselves. */
interface Standing {
  readonly spec: JsonObject;
  readonly conditions: readonly string[];
}

/**
 * Plays one plan on a running object: each edit, then back step by step, then delete (the method of Acto, SOSP 2023).
 * A → B → … → A has to end as A, a wrong value has to be refused and to change nothing, and an error has to be
 * recovered from.
 */
export async function playSequence(plan: SequencePlan): Promise<Outcome> {
  return new Sequence(plan).run();
}

class Sequence {
  readonly #plan: SequencePlan;
  readonly #world: SimulatedWorld;
  readonly #users: Users;
  readonly #invariants: Invariants;

  constructor(plan: SequencePlan) {
    this.#plan = plan;
    this.#world = new SimulatedWorld({
      seed: plan.seed,
      keepTrace: true,
      fate: () => ({ requestMs: 2, responseMs: 2 }),
    });
    this.#users = new Users(this.#world, seededRandom(plan.seed));
    this.#invariants = new Invariants(this.#world, { strict: true });
  }

  async run(): Promise<Outcome> {
    const { subject } = this.#plan.edited;
    this.#users.account.create('Report');
    subject.create(this.#users);
    this.#world.startProcess();
    await this.#until(READY_WITHIN, () => this.#isReady());
    const before = this.#standing();
    const left = await this.#edit(before.spec);
    await this.#goBack(left);
    await this.#until(subject.backWithin, () => this.#isReady() && sameStanding(before, this.#standing()));
    this.#compare(before);
    subject.remove(this.#users);
    await this.#until(GONE_WITHIN, () => subject.isGone(this.#users));
    this.#invariants.checkConverged();
    return this.#result();
  }

  #result(): Outcome {
    const { trace, second } = this.#world;
    return {
      violations: this.#invariants.violations,
      wastedSeconds: [...this.#invariants.wastedMs.values()].map((ms) => ms / SECOND),
      trace: trace.lines,
      traceHash: trace.digest(),
      virtualSeconds: second,
    };
  }

  /** Makes all edits and answers the specs that were left behind, each with how long to stay with it on the way back. */
  async #edit(first: JsonObject): Promise<readonly { spec: JsonObject; seconds: number }[]> {
    const left: { spec: JsonObject; seconds: number }[] = [];
    for (const { edit, seconds } of this.#plan.steps) {
      const { spec } = this.#standing();
      const isTaken = this.#write(applyEdit(spec, first, edit), edit.name);
      this.#checkAnswer({ edit, seconds }, isTaken, spec);
      if (isTaken) left.push({ spec, seconds });
      await this.#until(seconds, () => false);
    }
    return left;
  }

  async #goBack(left: readonly { spec: JsonObject; seconds: number }[]): Promise<void> {
    for (const [at, { spec, seconds }] of left.toReversed().entries()) {
      const isFirst = at === left.length - 1;
      if (!this.#write(spec, 'what it was before'))
        this.#invariants.report('Refusal', 'the way back is barred');
      if (!isFirst) await this.#until(seconds, () => false);
    }
  }

  #checkAnswer({ edit }: Step, isTaken: boolean, before: JsonObject): void {
    if (isTaken !== (edit.answer === 'taken')) {
      this.#invariants.report('Refusal', `${edit.name} is ${isTaken ? 'taken' : 'refused'}`);
    }
    if (!isTaken && !equalJson(this.#standing().spec, before)) {
      this.#invariants.report('Refusal', `${edit.name} is refused and changes the spec`);
    }
  }

  async #until(seconds: number, isReached: () => boolean): Promise<void> {
    const check = (): boolean => {
      this.#invariants.check();
      return true;
    };
    for (let second = 0; second < seconds && !isReached(); second += 5) {
      await this.#world.scheduler.runUntil(this.#world.now + 5 * SECOND, check);
    }
  }

  #object({ plural, name }: { readonly plural: string; readonly name: string }): JsonObject {
    const kind = this.#world.kube.kind(plural);
    return this.#world.kube.writes.read({ kind, namespace: NAMESPACE, name }) ?? {};
  }

  #isReady(): boolean {
    const conditions = listAt(statusAt(this.#object(this.#plan.edited.subject.user)), 'conditions');
    return conditions.some((each) => isObject(each) && each['type'] === 'Ready' && each['status'] === 'True');
  }

  #standing(): Standing {
    const object = this.#object(this.#plan.edited.subject);
    const status = statusAt(object);
    const conditions = listAt(status, 'conditions').filter(isObject);
    const words = conditions.map((each) => `${each['type']}=${each['status']} ${each['reason']}`);
    const isObserved = status['observedGeneration'] === metadataOf(object)['generation'];
    return {
      spec: objectAt(object, 'spec'),
      conditions: isObserved ? words.sort() : ['conditions of an earlier spec'],
    };
  }

  #write(spec: JsonObject, what: string): boolean {
    const { plural, name } = this.#plan.edited.subject;
    const kind = this.#world.kube.kind(plural);
    const address = { kind, namespace: NAMESPACE, name };
    try {
      this.#world.kube.writes.update(address, (current) => ({ ...current, spec }), undefined);
      this.#world.note(`a user writes ${what}`);
      return true;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.#world.note(`a user writes ${what}: ${error.reason}`);
      return false;
    }
  }

  #compare(before: Standing): void {
    const after = this.#standing();
    if (sameStanding(before, after)) return;
    this.#invariants.report('A-B-A', `${before.conditions.join(', ')} became ${after.conditions.join(', ')}`);
  }
}

function sameStanding(a: Standing, b: Standing): boolean {
  return equalJson(a.spec, b.spec) && equalJson([...a.conditions], [...b.conditions]);
}
