import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import { isKubeError, type KubeError } from '../../../runtime/kube/kube-error.ts';
import type { Published } from '../types.ts';
import type { Worker } from '../workers/worker.ts';
import { EndpointFileWriter } from './endpoint-file-writer.ts';
import type { Endpoint } from './endpoints.ts';
import { notPermittedTo, type PublishPorts, problemOf, SharedService } from './service.ts';
import { WorkerSlices } from './slices.ts';

export interface Publication {
  readonly group: EndpointGroup;
  readonly workers: readonly Worker[];
  readonly endpoints: readonly Endpoint[];
}

/**
 * Writes the Service of one group and a slice for each ready worker, and deletes slices. It remembers its writes: an
 * unchanged group sends no request except for a check every ten minutes.
 */
export class Publisher {
  readonly #service: SharedService;
  readonly #slices: WorkerSlices;
  /** List of ready workers for another router. */
  readonly file: EndpointFileWriter;
  #last: Published = { type: 'done' };
  /** Result of the last write of Service and slices, without deletions. */
  #lastWrite: Published = { type: 'done' };

  constructor(ports: PublishPorts) {
    this.#service = new SharedService(ports);
    this.#slices = new WorkerSlices(ports);
    this.file = new EndpointFileWriter(ports);
  }

  /** Returns the result of the last publication. */
  published(): Published {
    return this.#last;
  }

  /**
   * Writes Service and slices before it deletes slices, so that the Service is never empty during a replacement. It
   * deletes none if the write has another result than before, since the group then decides again which workers leave.
   * For a group that is being deleted it only deletes. Rejects if the API server fails; a retry is harmless.
   */
  async publish(publication: Publication): Promise<Published> {
    const { group, workers } = publication;
    const isEnding = group.metadata.deletionTimestamp !== undefined;
    this.#last = await (isEnding
      ? this.#unpublish(group, { leaving: workers, workers })
      : this.#write(publication));
    return this.#last;
  }

  /** Removes the group from the owners of the Service. The last group deletes the Service. */
  withdraw(group: EndpointGroup): Promise<void> {
    return this.#service.withdraw(group);
  }

  async #write({ group, workers, endpoints }: Publication): Promise<Published> {
    const before = this.#lastWrite;
    const [outcome] = await Promise.allSettled([this.#writeAll(group, endpoints)]);
    if (outcome.status === 'fulfilled') this.#lastWrite = outcome.value;
    // The decision about leaving workers did not include this result: the next reconcile decides again.
    if (problemOf(this.#lastWrite) !== problemOf(before)) return this.#lastWrite;
    const desired = new Set(endpoints.map(({ worker }) => worker.metadata.name));
    const leaving = workers.filter((worker) => !desired.has(worker.name));
    const unpublished = await this.#unpublish(group, { leaving, workers });
    if (outcome.status === 'rejected') throw outcome.reason;
    return this.#lastWrite.type === 'problem' ? this.#lastWrite : unpublished;
  }

  /**
   * Deletes slices. A refusal is only reported: machines that wait for a deletion would be billed until it succeeds.
   */
  async #unpublish(group: EndpointGroup, { leaving, workers }: Leaving): Promise<Published> {
    const outcomes = await Promise.allSettled([
      ...leaving.map((worker) => this.#slices.unpublish(worker)),
      this.#slices.keepOnly(group, workers),
    ]);
    const refusal = refusalIn(outcomes);
    if (refusal === undefined) return { type: 'done' };
    return notPermittedTo(`Cannot delete an EndpointSlice of ${group.metadata.name}`, refusal);
  }

  async #writeAll(group: EndpointGroup, endpoints: readonly Endpoint[]): Promise<Published> {
    try {
      const published = await this.#service.ensure(group);
      if (published.type !== 'done') return { ...published, forAll: true };
      const refused = endpoints.length === 0 ? await this.#slices.dryRun(group) : undefined;
      if (refused) return refused;
      const problems = await Promise.all(endpoints.map((endpoint) => this.#slices.ensure(group, endpoint)));
      const problem = problems.find((one) => one !== undefined);
      if (!problem) await this.#service.leaveFormer(group);
      return problem ?? published;
    } catch (error) {
      if (!isKubeError(error, 'forbidden', 'invalid')) throw error;
      return notPermittedTo(`Cannot release a former Service of ${group.metadata.name}`, error);
    }
  }
}

/** Workers to unpublish, and all workers of the group. */
interface Leaving {
  readonly leaving: readonly Worker[];
  readonly workers: readonly Worker[];
}

/** Returns the first refusal of the API server. Throws any other error. */
function refusalIn(outcomes: readonly PromiseSettledResult<unknown>[]): KubeError | undefined {
  const refusals: KubeError[] = [];
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') continue;
    if (!isKubeError(outcome.reason, 'forbidden', 'invalid')) throw outcome.reason;
    refusals.push(outcome.reason);
  }
  return refusals[0];
}
