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
 * Writes the Service of one group and a slice for each ready worker, and takes slices back. What it has written it
 * remembers, so that a steady group costs no request but a look every ten minutes.
 */
export class Publisher {
  readonly #service: SharedService;
  readonly #slices: WorkerSlices;
  /** The list of ready workers for another router. */
  readonly file: EndpointFileWriter;
  #last: Published = { type: 'done' };
  /** How publishing went last time, whatever came of taking back. */
  #given: Published = { type: 'done' };

  constructor(ports: PublishPorts) {
    this.#service = new SharedService(ports);
    this.#slices = new WorkerSlices(ports);
    this.file = new EndpointFileWriter(ports);
  }

  /** How it went last time. */
  published(): Published {
    return this.#last;
  }

  /**
   * Publishes first, so that the Service is never empty while one worker relieves another, and then takes back; not
   * where publishing went otherwise than before, since then it is decided again who leaves. For a group that is being
   * deleted it only takes back, whatever would be published. Rejects where the API server does not answer; doing it
   * again is harmless.
   */
  async publish(publication: Publication): Promise<Published> {
    const { group, workers } = publication;
    const isEnding = group.metadata.deletionTimestamp !== undefined;
    this.#last = await (isEnding
      ? this.#takeBack(group, { leaving: workers, workers })
      : this.#write(publication));
    return this.#last;
  }

  /** Gives up the group's part in the Service; the last group takes it away. */
  withdraw(group: EndpointGroup): Promise<void> {
    return this.#service.withdraw(group);
  }

  async #write({ group, workers, endpoints }: Publication): Promise<Published> {
    const before = this.#given;
    const [outcome] = await Promise.allSettled([this.#give(group, endpoints)]);
    if (outcome.status === 'fulfilled') this.#given = outcome.value;
    // Who is to leave was decided without knowing this, and may stay: it is decided again at once.
    if (problemOf(this.#given) !== problemOf(before)) return this.#given;
    const desired = new Set(endpoints.map(({ worker }) => worker.metadata.name));
    const leaving = workers.filter((worker) => !desired.has(worker.name));
    const taken = await this.#takeBack(group, { leaving, workers });
    if (outcome.status === 'rejected') throw outcome.reason;
    return this.#given.type === 'problem' ? this.#given : taken;
  }

  /** A refusal is only told of: machines that wait for a slice to go would bill for as long as it is refused. */
  async #takeBack(group: EndpointGroup, { leaving, workers }: Leaving): Promise<Published> {
    const outcomes = await Promise.allSettled([
      ...leaving.map((worker) => this.#slices.takeBack(worker)),
      this.#slices.keepOnly(group, workers),
    ]);
    const refusal = refusalIn(outcomes);
    if (refusal === undefined) return { type: 'done' };
    return notPermittedTo(`An EndpointSlice of ${group.metadata.name} cannot be deleted`, refusal);
  }

  async #give(group: EndpointGroup, endpoints: readonly Endpoint[]): Promise<Published> {
    try {
      const published = await this.#service.ensure(group);
      if (published.type !== 'done') return { ...published, forAll: true };
      const refused = endpoints.length === 0 ? await this.#slices.tryOne(group) : undefined;
      if (refused) return refused;
      const problems = await Promise.all(endpoints.map((endpoint) => this.#slices.ensure(group, endpoint)));
      const problem = problems.find((one) => one !== undefined);
      if (!problem) await this.#service.leaveFormer(group);
      return problem ?? published;
    } catch (error) {
      if (!isKubeError(error, 'forbidden', 'invalid')) throw error;
      return notPermittedTo(`A Service that ${group.metadata.name} leaves cannot be given up`, error);
    }
  }
}

/** Workers that are led to no more, and all that there are. */
interface Leaving {
  readonly leaving: readonly Worker[];
  readonly workers: readonly Worker[];
}

/** The first of them; throws what failed otherwise. */
function refusalIn(outcomes: readonly PromiseSettledResult<unknown>[]): KubeError | undefined {
  const refusals: KubeError[] = [];
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') continue;
    if (!isKubeError(outcome.reason, 'forbidden', 'invalid')) throw outcome.reason;
    refusals.push(outcome.reason);
  }
  return refusals[0];
}
