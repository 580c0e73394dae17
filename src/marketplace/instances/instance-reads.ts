import { fittingText } from '../../lib/fitting-text.ts';
import { MarketplaceError } from '../errors/errors.ts';
import { pathId } from '../http/change.ts';
import type { Requester } from '../http/request.ts';
import type { CallOptions } from '../offers/offers.ts';
import {
  instanceReply,
  instanceRows,
  instancesPageReply,
  instancesReply,
  toInstance,
} from '../wire/instance.ts';
import type { Instance, InstanceList } from './instance.ts';
import type { InstancePage, InstancesResource, PageQuery } from './instances.ts';

const READ = { area: 'instances', effect: 'read', method: 'GET' } as const;

/** Most rows on a page that the paged list serves. */
const PAGE_LIMIT = 25;

/** Reading instances over one requester. */
export function createInstanceReads(requester: Requester): Pick<InstancesResource, 'list' | 'page' | 'get'> {
  return {
    list: (options) => list(requester, options),
    page: (query, options) => page(requester, query, options),
    get: (id, options) => get(requester, id, options),
  };
}

async function list(requester: Requester, bounds: CallOptions | undefined): Promise<InstanceList> {
  const call = {
    ...READ,
    operation: 'list instances',
    endpointClass: 'list',
    path: '/api/v0/instances/',
    reply: instancesReply,
    bounds,
  } as const;
  const { value, rows, headers } = await requester.sendList(call, instanceRows);
  refuseCached(headers);
  return { instances: complete(rows, value.instances_found) };
}

async function page(
  requester: Requester,
  query: PageQuery | undefined,
  bounds: CallOptions | undefined,
): Promise<InstancePage> {
  const call = {
    ...READ,
    operation: 'list a page of instances',
    endpointClass: 'list',
    path: '/api/v1/instances/',
    query: {
      limit: PAGE_LIMIT,
      order_by: [{ col: 'id', dir: 'asc' }],
      select_filters: query?.filters,
      after_token: query?.afterToken,
    },
    reply: instancesPageReply,
    bounds,
  } as const;
  const { value, rows, headers } = await requester.sendList(call, instanceRows);
  refuseCached(headers);
  return {
    instances: rows,
    nextToken: value.next_token === '' ? null : value.next_token,
    found: value.instances_found,
    total: value.total_instances,
  };
}

async function get(
  requester: Requester,
  id: number,
  bounds: CallOptions | undefined,
): Promise<Instance | null> {
  try {
    const { value, headers } = await requester.send({
      ...READ,
      operation: 'read an instance',
      endpointClass: 'get',
      path: `/api/v0/instances/${pathId(id)}/`,
      query: { owner: 'me' },
      reply: instanceReply,
      bounds,
    });
    refuseCached(headers);
    return value.instances === null ? null : toInstance(value.instances);
  } catch (error) {
    // A wrong key that answers 404 says so in its text and is of another kind.
    if (error instanceof MarketplaceError && error.kind === 'notFound') return null;
    throw error;
  }
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

/** A list from a cache shows what was before the request, and proves nothing about machines since. */
function refuseCached({ age }: Readonly<Record<string, string>>): void {
  if (Number(age ?? 0) > 0) throw incompleteList(`it is ${fittingText(age, 12)} s old, from a cache`);
}

/** The error of a list that must not be believed. */
export function incompleteList(why: string): MarketplaceError {
  return new MarketplaceError(`list instances: the list cannot be trusted: ${why}`, {
    kind: 'malformedReply',
    outcome: 'refused',
  });
}
