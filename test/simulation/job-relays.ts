import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { annotations, labels } from '../../src/api/v1alpha1/names.ts';
import { withOwner } from '../../src/cli/job/run-manifest.ts';
import { runLabel } from '../../src/cli/job/run-name.ts';
import {
  endingOf,
  type OwnerObject,
  type OwnerReply,
  ownerOf,
  type RunOwner,
} from '../../src/cli/job/run-owner.ts';
import { resultOf } from '../../src/cli/job/run-result.ts';
import { type RunStep, runStep } from '../../src/cli/job/run-step.ts';
import { formatTime } from '../../src/lib/time.ts';
import type { Kubectl } from './kubectl.ts';
import { type JsonObject, metadataOf, objectAt } from './memory-kube/json.ts';
import { NAMESPACE, type SimulatedWorld } from './world.ts';

const GPU_INSTANCES = 'gpuinstances';

/** A relay of a Job that has decided what to do, and has not done it yet. */
interface Decided {
  readonly owner: RunOwner;
  readonly step: RunStep;
}

/** Jobs, their Pods, and relays in these that decide by the rules of `gpu-rent job`. Each step is one action. */
export class JobRelays {
  readonly #world: SimulatedWorld;
  readonly #kubectl: Kubectl;
  #pods = 0;

  constructor(world: SimulatedWorld, kubectl: Kubectl) {
    this.#world = world;
    this.#kubectl = kubectl;
  }

  /** Names of the Jobs that stand. */
  names(): readonly string[] {
    return this.#kubectl.names('jobs');
  }

  create(name: string): void {
    this.#kubectl.create('jobs', name, { apiVersion: 'batch/v1', kind: 'Job', spec: {} });
  }

  /** Deletes a Job; the garbage collector deletes its Pods and its object. */
  delete(name: string): void {
    this.#kubectl.delete(this.#kubectl.address('jobs', name), `deletes the Job ${name}`);
  }

  /** Suspends a Job. Its Pods get SIGTERM. */
  suspend(name: string): void {
    this.#kubectl.edit(this.#kubectl.address('jobs', name), {
      what: `suspends the Job ${name}`,
      change: (current) => ({ ...current, spec: { ...objectAt(current, 'spec'), suspend: true } }),
    });
  }

  /** Starts a Pod of a Job, whose relay decides. Undefined for a Job that starts no Pod any more. */
  startPod(name: string): Decided | undefined {
    const job = this.#job(name);
    if (!job || isOver(job)) return undefined;
    this.#pods += 1;
    const { uid = '' } = job.metadata;
    const controller = { apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true };
    const pod = `${name}-${this.#pods}`;
    this.#world.kube.writes.create(this.#kubectl.address('pods', pod), {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: pod, ownerReferences: [controller] },
    });
    const found = this.#world.kube.writes.read(this.#kubectl.address('pods', pod));
    const owner = found && ownerOf(asObject(found), { type: 'found', object: job });
    return owner && { owner, step: runStep(this.#objectsOf(owner), owner) };
  }

  /** Carries out what a relay decided, perhaps after another relay. */
  carryOut({ owner, step }: Decided, spec: JsonObject): void {
    if (step.type !== 'create') return;
    const object = withOwner({ spec }, owner, { attempt: step.attempt, namespace: NAMESPACE });
    const { name } = object.metadata;
    this.#kubectl.try(`has a relay create ${name}`, () => {
      this.#world.kube.writes.create(
        this.#kubectl.address(GPU_INSTANCES, name),
        object as unknown as JsonObject,
      );
      if (step.supersedes) this.#kubectl.delete(this.#address(step.supersedes), `supersedes a failed try`);
    });
  }

  /** Removes the Pods of a Job, as an eviction does; the relay in each gets SIGTERM. */
  evict(name: string): void {
    for (const pod of this.#kubectl.names('pods').filter((each) => each.startsWith(`${name}-`)))
      this.#kubectl.delete(this.#kubectl.address('pods', pod), `evicts the Pod ${pod}`);
  }

  /** Sends SIGTERM to the relay of a Job. `isAnswered`: false if the API server does not say how the Job is. */
  terminate(name: string, { isAnswered }: { readonly isAnswered: boolean }): void {
    for (const object of this.#world.kube.store.all(this.#world.kube.kind(GPU_INSTANCES))) {
      const [reference] = asObject(object).metadata.ownerReferences ?? [];
      if (reference?.kind !== 'Job' || reference.name !== name) continue;
      const owner = {
        reference: { ...reference, blockOwnerDeletion: false },
        ownerUid: reference.uid,
        index: undefined,
      };
      const { cancels, cause } = endingOf(owner, isAnswered ? this.#reply(name) : { type: 'unknown' });
      this.#world.note(`the relay of ${name} ends: ${cause}`);
      if (cancels) this.#cancel(asObject(object));
    }
  }

  /** Lets relays report finished runs to their Jobs. */
  report(): void {
    for (const object of this.#world.kube.store.all(this.#world.kube.kind(GPU_INSTANCES))) {
      const [reference] = asObject(object).metadata.ownerReferences ?? [];
      const result = reference?.kind === 'Job' ? resultOf(asObject(object)) : undefined;
      if (!result || !reference) continue;
      const { name } = asObject(object).metadata;
      this.#kubectl.annotate(this.#address(asObject(object)), `has the relay report ${name}`, {
        [annotations.jobReported]: 'pod',
      });
      if (result.succeeded && this.#job(reference.name)) this.#complete(reference.name);
    }
  }

  #complete(name: string): void {
    this.#kubectl.edit(this.#kubectl.address('jobs', name), {
      what: `has the Job ${name} complete`,
      change: (current) => ({ ...current, status: { conditions: [{ type: 'Complete', status: 'True' }] } }),
    });
  }

  #cancel(object: GpuInstance): void {
    this.#kubectl.annotate(this.#address(object), `cancels ${object.metadata.name}`, {
      [annotations.cancelAt]: formatTime(this.#world.now),
    });
  }

  #address({ metadata }: GpuInstance) {
    return this.#kubectl.address(GPU_INSTANCES, metadata.name);
  }

  #objectsOf(owner: RunOwner): readonly GpuInstance[] {
    const all = this.#world.kube.store.all(this.#world.kube.kind(GPU_INSTANCES));
    const label = runLabel(owner);
    return all
      .filter((object) => objectAt(metadataOf(object), 'labels')[labels.jobRun] === label)
      .map(asObject);
  }

  #reply(name: string): OwnerReply {
    const object = this.#job(name);
    return object ? { type: 'found', object } : { type: 'absent' };
  }

  #job(name: string): OwnerObject | undefined {
    const job = this.#world.kube.writes.read(this.#kubectl.address('jobs', name));
    return job as unknown as OwnerObject | undefined;
  }
}

/** Returns true if a Job starts no other Pod. */
export function isOver({ metadata, spec, status }: OwnerObject): boolean {
  const hasEnded = status?.conditions?.some(({ type }) => type === 'Complete' || type === 'Failed') ?? false;
  return metadata.deletionTimestamp !== undefined || spec?.suspend === true || hasEnded;
}

const asObject = (object: JsonObject): GpuInstance => object as unknown as GpuInstance;
