import { seededRandom } from '../../src/lib/random.ts';
import { type Edit, editsOf } from './edits.ts';
import { Invariants, type Violation } from './invariants.ts';
import { Failure } from './memory-kube/failure.ts';
import { equalJson, isObject, type Json, type JsonObject, listAt, objectAt } from './memory-kube/json.ts';
import { Users } from './users.ts';
import { NAMESPACE, SimulatedWorld } from './world.ts';

/** What one sequence came to. */
export interface SequenceResult {
  readonly violations: readonly Violation[];
  readonly wastedSeconds: readonly number[];
  readonly trace: readonly string[];
  readonly traceHash: string;
  readonly virtualSeconds: number;
}

export interface SequencesOptions {
  readonly seed: number;
  readonly goOn: () => boolean;
  readonly onSequence: (sequence: { readonly name: string; readonly result: SequenceResult }) => void;
  /** Wraps each sequence, to measure it. */
  readonly measure?: (run: () => Promise<SequenceResult>) => Promise<SequenceResult>;
}

const SECOND = 1000;
const READY_WITHIN = 240;
const EDITED_FOR = 60;
/** Replacements and backoffs may stand between an edit and the old state. */
const BACK_WITHIN = 900;
const GONE_WITHIN = 600;
/** A group also drains workers, and keeps for ten minutes what it once needed. */
const GROUP_BACK_WITHIN = 2400;
/** Needs one worker. */
const GROUP_LOAD = 50;

/**
 * Every edit that the CRD schema of a kind allows or refuses, on a running object: change, change back, delete
 * (the method of Acto, SOSP 2023). A → B → A has to end as A, and an error has to be recovered from.
 */
export async function runSequences({
  seed,
  goOn,
  onSequence,
  measure = (run) => run(),
}: SequencesOptions): Promise<void> {
  const world = new SimulatedWorld({ seed, keepTrace: false, fate: () => ({ requestMs: 2, responseMs: 2 }) });
  for (const subject of SUBJECTS) {
    const { plural } = subject;
    const schema = world.kube.kind(plural).schema ?? {};
    for (const edit of editsOf(objectAt(objectAt(schema, 'properties'), 'spec'))) {
      if (!goOn()) return;
      if (keepsMachines(subject, edit)) continue;
      const text = `${plural} spec.${edit.path.join('.')} = ${JSON.stringify(edit.value)}`;
      const result = await measure(() => new Sequence({ seed, edit, subject }).run());
      onSequence({ name: text, result });
    }
  }
}

/** Workers that such a template made leave their machines behind when they are replaced, as it says. */
function keepsMachines({ plural }: Subject, { path, value }: Edit): boolean {
  return plural === 'endpointgroups' && path.at(-1) === 'deletionPolicy' && value !== 'Destroy';
}

/** What is edited, and what has to be well beside it. */
interface Subject {
  readonly plural: string;
  readonly name: string;
  /** The object that uses machines: it is ready before and after, and deleted at the end. */
  readonly user: { readonly plural: string; readonly name: string };
  readonly create: (users: Users) => void;
  readonly remove: (users: Users) => void;
  readonly isGone: (users: Users) => boolean;
  readonly backWithin: number;
}

const OF_AN_INSTANCE = {
  user: { plural: 'gpuinstances', name: 'a' },
  create: (users: Users) => users.createInstance('a'),
  remove: (users: Users) => users.delete('a'),
  isGone: (users: Users) => users.names().length === 0,
  backWithin: BACK_WITHIN,
};

const SUBJECTS: readonly Subject[] = [
  { plural: 'gpuinstances', name: 'a', ...OF_AN_INSTANCE },
  { plural: 'marketplaceaccounts', name: 'default', ...OF_AN_INSTANCE },
  {
    plural: 'endpointgroups',
    name: 'g',
    user: { plural: 'endpointgroups', name: 'g' },
    create: (users) => users.createGroup('g', GROUP_LOAD),
    remove: (users) => users.deleteGroup('g'),
    isGone: (users) => users.groupNames().length === 0 && users.names().length === 0,
    backWithin: GROUP_BACK_WITHIN,
  },
];

interface SequenceOptions {
  readonly seed: number;
  readonly edit: Edit;
  readonly subject: Subject;
}

/** How an object stands, without what moves by itself or counts replacements. */
interface Standing {
  readonly spec: Json | undefined;
  readonly conditions: readonly string[];
}

class Sequence {
  readonly #options: SequenceOptions;
  readonly #world: SimulatedWorld;
  readonly #users: Users;
  readonly #invariants: Invariants;

  constructor(options: SequenceOptions) {
    this.#options = options;
    this.#world = new SimulatedWorld({
      seed: options.seed,
      keepTrace: true,
      fate: () => ({ requestMs: 2, responseMs: 2 }),
    });
    this.#users = new Users(this.#world, seededRandom(options.seed));
    this.#invariants = new Invariants(this.#world, { strict: true });
  }

  async run(): Promise<SequenceResult> {
    const world = this.#world;
    const { subject } = this.#options;
    this.#users.createAccount('Report');
    subject.create(this.#users);
    world.startProcess();
    await this.#until(READY_WITHIN, () => this.#isReady());
    const before = this.#standing();
    this.#change();
    await this.#until(EDITED_FOR, () => false);
    this.#changeBack(before);
    await this.#until(subject.backWithin, () => this.#isReady() && sameStanding(before, this.#standing()));
    this.#compare(before);
    subject.remove(this.#users);
    await this.#until(GONE_WITHIN, () => subject.isGone(this.#users));
    this.#invariants.checkConverged();
    return {
      violations: this.#invariants.violations,
      wastedSeconds: [...this.#invariants.wastedMs.values()].map((ms) => ms / SECOND),
      trace: world.trace.lines,
      traceHash: world.trace.digest(),
      virtualSeconds: world.second,
    };
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
    const conditions = listAt(objectAt(this.#object(this.#options.subject.user), 'status'), 'conditions');
    return conditions.some((each) => isObject(each) && each['type'] === 'Ready' && each['status'] === 'True');
  }

  #standing(): Standing {
    const object = this.#object(this.#options.subject);
    const conditions = listAt(objectAt(object, 'status'), 'conditions').filter(isObject);
    return {
      spec: object['spec'],
      conditions: conditions.map((each) => `${each['type']}=${each['status']} ${each['reason']}`).sort(),
    };
  }

  #change(): void {
    const { edit } = this.#options;
    const refusal = this.#write((spec) => withValue(spec, edit.path, edit.value));
    if (!edit.valid && refusal === undefined) {
      this.#invariants.report('Refusal', `${edit.path.join('.')} takes ${JSON.stringify(edit.value)}`);
    }
  }

  #changeBack(before: Standing): void {
    this.#write(() => (isObject(before.spec) ? before.spec : {}));
  }

  #write(change: (spec: JsonObject) => JsonObject): Failure | undefined {
    const { plural, name } = this.#options.subject;
    const kind = this.#world.kube.kind(plural);
    try {
      this.#world.kube.writes.update(
        { kind, namespace: NAMESPACE, name },
        (current) => ({ ...current, spec: change(objectAt(current, 'spec')) }),
        undefined,
      );
      return undefined;
    } catch (error) {
      if (error instanceof Failure) return error;
      throw error;
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

function withValue(parent: JsonObject, path: readonly string[], value: Json | undefined): JsonObject {
  const [key, ...rest] = path;
  if (key === undefined) return parent;
  return { ...parent, [key]: rest.length === 0 ? value : withValue(objectAt(parent, key), rest, value) };
}
