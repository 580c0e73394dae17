import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { Published } from '../types.ts';
import type { Worker } from '../workers/worker.ts';
import type { Endpoint } from './endpoints.ts';
import { SharedService } from './shared-service.ts';
import { WorkerSlices } from './worker-slices.ts';
import type { PublishPorts } from './written.ts';

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
  #last: Published = { type: 'done' };

  constructor(ports: PublishPorts) {
    this.#service = new SharedService(ports);
    this.#slices = new WorkerSlices(ports);
  }

  /** How it went last time. */
  published(): Published {
    return this.#last;
  }

  /**
   * Publishes first, so that the Service is never empty while one worker relieves another, and takes back whatever
   * came of that. Rejects where the API server does not answer; doing it again is harmless.
   */
  async publish(publication: Publication): Promise<Published> {
    this.#last = await this.#write(publication);
    return this.#last;
  }

  /** Gives up the group's part in the Service; the last group takes it away. */
  withdraw(group: EndpointGroup): Promise<void> {
    return this.#service.withdraw(group);
  }

  async #write({ group, workers, endpoints }: Publication): Promise<Published> {
    const wanted = new Set(endpoints.map(({ worker }) => worker.metadata.name));
    const leaving = workers.filter((worker) => !wanted.has(worker.name));
    try {
      const published = await this.#give(group, endpoints);
      if (published.type === 'done') await this.#service.leaveFormer(group);
      return published;
    } finally {
      await Promise.all(leaving.map((worker) => this.#slices.takeBack(worker)));
      await this.#slices.keepOnly(group, workers);
    }
  }

  async #give(group: EndpointGroup, endpoints: readonly Endpoint[]): Promise<Published> {
    const published = await this.#service.ensure(group);
    if (published.type !== 'done') return published;
    const problems = await Promise.all(endpoints.map((endpoint) => this.#slices.ensure(group, endpoint)));
    return problems.find((problem) => problem !== undefined) ?? published;
  }
}
