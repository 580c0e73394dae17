import type { Requester } from '../http/request.ts';
import { createInstanceChanges } from './instance-changes.ts';
import { createInstanceReads } from './instance-reads.ts';
import { createRentals } from './instance-rentals.ts';
import type { InstancesResource } from './instances.ts';
import { listInAnyForm } from './paged-list.ts';

/** Instances over one requester. */
export function createInstances(requester: Requester): InstancesResource {
  const reads = createInstanceReads(requester);
  return {
    ...reads,
    listAll: async (options) => ({ instances: await listInAnyForm(reads, options) }),
    ...createRentals(requester),
    ...createInstanceChanges(requester),
  };
}
