import { pathId } from './change.ts';
import { MarketplaceError } from './errors.ts';
import type { Instance } from './instance.ts';
import type { InstancePage, InstancesResource } from './instances.ts';
import type { Requester } from './request.ts';
import { instanceReply, instancesPageReply, instancesReply, toInstance } from './wire/instance.ts';

const READ = { area: 'instances', effect: 'read', method: 'GET' } as const;

/** Most rows on a page that the paged list serves. */
const PAGE_LIMIT = 25;

/** Reading instances over one requester. */
export function createInstanceReads(requester: Requester): Pick<InstancesResource, 'list' | 'page' | 'get'> {
  return {
    async list(options) {
      const { value } = await requester.send({
        ...READ,
        operation: 'list instances',
        endpointClass: 'list',
        path: '/api/v0/instances/',
        reply: instancesReply,
        bounds: options,
      });
      const instances = value.instances.map(toInstance);
      return { instances: complete(instances, value.instances_found) };
    },

    async page(query = {}, options) {
      const { value } = await requester.send({
        ...READ,
        operation: 'list a page of instances',
        endpointClass: 'list',
        path: '/api/v1/instances/',
        query: {
          limit: PAGE_LIMIT,
          order_by: [{ col: 'id', dir: 'asc' }],
          select_filters: query.filters,
          after_token: query.afterToken,
        },
        reply: instancesPageReply,
        bounds: options,
      });
      return {
        instances: value.instances.map(toInstance),
        nextToken: value.next_token === '' ? null : value.next_token,
        found: value.instances_found,
        total: value.total_instances,
      } satisfies InstancePage;
    },

    async get(id, options) {
      try {
        const { value } = await requester.send({
          ...READ,
          operation: 'read an instance',
          endpointClass: 'get',
          path: `/api/v0/instances/${pathId(id)}/`,
          query: { owner: 'me' },
          reply: instanceReply,
          bounds: options,
        });
        return value.instances === null ? null : toInstance(value.instances);
      } catch (error) {
        // Wrong keys answer 404 with an authentication text, which is another kind.
        if (error instanceof MarketplaceError && error.kind === 'notFound') return null;
        throw error;
      }
    },
  };
}

/** The rows, where they are as many as the service counted and each machine stands there once. */
function complete(instances: readonly Instance[], found: number | undefined): readonly Instance[] {
  if (found !== instances.length) {
    throw incompleteList(`it names ${found ?? 'no'} instances and holds ${instances.length}`);
  }
  if (new Set(instances.map(({ id }) => id)).size !== instances.length) {
    throw incompleteList('it names an instance twice');
  }
  return instances;
}

/** The error of a list that must not be believed. */
export function incompleteList(why: string): MarketplaceError {
  return new MarketplaceError(`list instances: the list cannot be trusted: ${why}`, {
    kind: 'malformedReply',
    outcome: 'refused',
  });
}
