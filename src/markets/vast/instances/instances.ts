import type { MicroDollars } from '../../../lib/money.ts';
import { fittingText } from '../../../lib/text.ts';
import type { CallOptions } from '../../../market/call-options.ts';
import { MarketplaceError } from '../../../market/errors.ts';
import type { MarketplaceId } from '../../../market/ids.ts';
import { type Change, type ChangeAnswer, type Requester, sendChange } from '../http/call.ts';
import { pathId, toWireId } from '../ids.ts';
import {
  type Instance,
  type InstanceList,
  instanceReply,
  instanceRows,
  instancesPageReply,
  instancesReply,
  resultReply,
  toInstance,
} from './instance.ts';
import { createRentals, type RentCalls } from './rent.ts';

/** A page of the paged list. */
export interface InstancePage {
  readonly instances: readonly Instance[];
  readonly nextToken: string | null;
  /** Number of rows on this page or of all, depending on the service. */
  readonly found: number | undefined;
  readonly total: number | undefined;
}

/** Parameters of a page. */
export interface PageQuery {
  readonly filters?: Readonly<Record<string, unknown>>;
  readonly afterToken?: string;
}

/**
 * Instances (specification 4.3, 4.5 to 4.7, and additions of the public service). Reads may be repeated; writes never
 * are.
 */
export interface InstancesResource extends RentCalls {
  /**
   * Returns every machine of the login; rejects with a MarketplaceError instead of returning a part. 410 means: use
   * {@link page}.
   */
  list(options?: CallOptions): Promise<InstanceList>;
  /** Returns every machine of the login in the form that the service serves: the whole list, or all pages of it. */
  listAll(options?: CallOptions): Promise<InstanceList>;
  /** Returns one page of the paged list, ordered by id. */
  page(query?: PageQuery, options?: CallOptions): Promise<InstancePage>;
  /** Returns the machine; null if the service reports it as absent, which alone is no proof. */
  get(id: MarketplaceId, options?: CallOptions): Promise<Instance | null>;
  stop(id: MarketplaceId, options?: CallOptions): Promise<ChangeAnswer>;
  start(id: MarketplaceId, options?: CallOptions): Promise<ChangeAnswer>;
  stopMany(ids: readonly MarketplaceId[], options?: CallOptions): Promise<ChangeAnswer>;
  startMany(ids: readonly MarketplaceId[], options?: CallOptions): Promise<ChangeAnswer>;
  label(id: MarketplaceId, label: string, options?: CallOptions): Promise<ChangeAnswer>;
  reboot(id: MarketplaceId, options?: CallOptions): Promise<ChangeAnswer>;
  /** Stops the machine, removes the container and starts again from the image. */
  recycle(id: MarketplaceId, options?: CallOptions): Promise<ChangeAnswer>;
  /** Changes the bid; null means the price that wins now. */
  changeBid(id: MarketplaceId, bidPerHour: MicroDollars | null, options?: CallOptions): Promise<ChangeAnswer>;
  /** Requests the container's log; the reply has the address of the text. */
  requestLogs(id: MarketplaceId, query?: LogQuery, options?: CallOptions): Promise<ResultAnswer>;
  /**
   * Runs `ls`, `rm` or `du` on the files of the machine, also while it is stopped; the reply has the address of the
   * output.
   */
  runCommand(id: MarketplaceId, command: string, options?: CallOptions): Promise<ResultAnswer>;
  /** Ends billing. Success is no proof: the machine may still be listed for a while. */
  destroy(id: MarketplaceId, options?: CallOptions): Promise<ChangeAnswer>;
  destroyMany(ids: readonly MarketplaceId[], options?: CallOptions): Promise<ChangeAnswer>;
}

/** Selection of the lines of a log. */
export interface LogQuery {
  readonly filter?: string;
  readonly tailLines?: number;
  readonly daemonLogs?: boolean;
}

/** Address of a log, or of the output of a command. */
export interface ResultAnswer extends ChangeAnswer {
  readonly resultUrl: string | undefined;
}

/** Creates the instance calls over one requester. */
export function createInstances(requester: Requester): InstancesResource {
  const reads = createInstanceReads(requester);
  return {
    ...reads,
    listAll: async (options) => ({ instances: await listInAnyForm(reads, options) }),
    ...createRentals(requester),
    ...createInstanceChanges(requester),
  };
}

const READ = { area: 'instances', effect: 'read', method: 'GET' } as const;

/** Maximum rows of a page of the paged list. */
const PAGE_LIMIT = 25;

/** Creates the instance reads over one requester. */
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
  return { instances: assertComplete(rows, value.instances_found) };
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
  id: MarketplaceId,
  bounds: CallOptions | undefined,
): Promise<Instance | null> {
  try {
    const { value, headers } = await requester.send({
      ...READ,
      operation: 'read an instance',
      endpointClass: 'get',
      path: `/api/v0/instances/${pathId(id, 'instanceId')}/`,
      query: { owner: 'me' },
      reply: instanceReply,
      bounds,
    });
    refuseCached(headers);
    return value.instances === null ? null : toInstance(value.instances);
  } catch (error) {
    // A 404 for a wrong key is recognized by its text and has another kind.
    if (error instanceof MarketplaceError && error.kind === 'notFound') return null;
    throw error;
  }
}

/** Returns the rows. Throws if their number differs from the service's count or a machine occurs twice. */
function assertComplete(instances: readonly Instance[], found: number | undefined): readonly Instance[] {
  if (found !== instances.length) {
    throw incompleteList(`it names ${found ?? 'no'} instances but contains ${instances.length}`);
  }
  if (new Set(instances.map(({ id }) => id)).size !== instances.length) {
    throw incompleteList('it names an instance twice');
  }
  return instances;
}

/**
 * Throws for a list from a cache: it shows the state before the request and proves nothing about machines since then.
 */
function refuseCached({ age }: Readonly<Record<string, string>>): void {
  if (Number(age ?? 0) > 0) throw incompleteList(`it is ${fittingText(age, 12)} s old, from a cache`);
}

/** Returns the error of an incomplete list. */
export function incompleteList(why: string): MarketplaceError {
  return new MarketplaceError(`list instances: the list cannot be trusted: ${why}`, {
    kind: 'malformedReply',
    outcome: 'refused',
  });
}

/** Maximum pages: 25,000 machines, more than any account has. */
const MAX_PAGES = 1_000;

/** Parameters of a paged read. */
export interface PagedQuery extends CallOptions {
  readonly filters?: PageQuery['filters'];
}

/**
 * Returns all machines, whole or by pages: by pages if the service reports that it no longer serves the whole list.
 * Rejects with a MarketplaceError if a call fails or a list is incomplete.
 */
export async function listInAnyForm(
  instances: Pick<InstancesResource, 'list' | 'page'>,
  options: CallOptions = {},
): Promise<readonly Instance[]> {
  try {
    return (await instances.list(options)).instances;
  } catch (error) {
    if (!(error instanceof MarketplaceError) || error.kind !== 'gone') throw error;
    return listPages(instances, options);
  }
}

/**
 * Returns all pages of the paged list; rejects with a MarketplaceError instead of returning a part. It rejects a
 * repeated token, too many pages, a machine named twice, and a sum that contradicts the service's counts; without a
 * filter also an empty list without a count. Machines may come and go between pages, so the sum must lie between the
 * smallest and the largest count.
 */
export async function listPages(
  instances: Pick<InstancesResource, 'page'>,
  { filters, ...options }: PagedQuery = {},
): Promise<readonly Instance[]> {
  const pages: InstancePage[] = [];
  const tokens = new Set<string>();
  let afterToken: string | null = null;
  do {
    const query: PageQuery = {
      ...(filters === undefined ? {} : { filters }),
      ...(afterToken === null ? {} : { afterToken }),
    };
    const page = await instances.page(query, options);
    if (filters === undefined) checkPage(page);
    pages.push(page);
    afterToken = page.nextToken;
    checkToken(afterToken, tokens, pages.length);
  } while (afterToken !== null);
  return filters === undefined ? wholeList(pages) : filteredList(pages);
}

/** Throws for a truncated page: a page of all machines counts its own rows or all of them. */
function checkPage({ instances, found, total }: InstancePage): void {
  if (found === undefined || found === instances.length || found === total) return;
  throw incompleteList(`a page names ${found} instances but contains ${instances.length}`);
}

function checkToken(token: string | null, seen: Set<string>, pages: number): void {
  if (token === null) return;
  if (seen.has(token)) throw incompleteList('a page token came twice');
  if (pages >= MAX_PAGES) throw incompleteList(`it has more than ${MAX_PAGES} pages`);
  seen.add(token);
}

function wholeList(pages: readonly InstancePage[]): readonly Instance[] {
  const rows = joined(pages);
  const totals = pages.flatMap(({ total }) => total ?? []);
  const isCounted = pages.some(({ found, total }) => found !== undefined || total !== undefined);
  if (rows.length === 0 && !isCounted) throw incompleteList('it is empty and counts nothing');
  if (totals.length > 0 && !isBetween(rows.length, totals)) {
    throw incompleteList(`it names ${totals.at(-1)} instances but contains ${rows.length}`);
  }
  return rows;
}

/**
 * Returns the rows of a filtered list. With a filter `found` counts the matching rows, of the page or of all pages
 * (wire reference, section 7); the total still counts all machines.
 */
function filteredList(pages: readonly InstancePage[]): readonly Instance[] {
  const rows = joined(pages);
  const counted = pages.flatMap(({ instances, found }) =>
    found === undefined ? [] : [{ listed: instances.length, found }],
  );
  if (counted.every(({ listed, found }) => found === listed)) return rows;
  // If one page counts only its own rows and another does not, the counts are not totals: the other page was truncated.
  const countsAll = counted.every(({ listed, found }) => found > listed || listed === rows.length);
  const founds = counted.map(({ found }) => found);
  if (countsAll && isBetween(rows.length, founds)) return rows;
  throw incompleteList(`its pages name ${founds.join(', ')} instances but contain ${rows.length} together`);
}

function joined(pages: readonly InstancePage[]): readonly Instance[] {
  const rows = pages.flatMap((page) => page.instances);
  if (new Set(rows.map(({ id }) => id)).size !== rows.length)
    throw incompleteList('it names an instance twice');
  return rows;
}

const isBetween = (count: number, counts: readonly number[]): boolean =>
  count >= Math.min(...counts) && count <= Math.max(...counts);

type InstanceChange = Pick<Change, 'operation' | 'path' | 'body' | 'bounds'>;

type Changes = Omit<InstancesResource, 'list' | 'listAll' | 'page' | 'get' | 'rent' | 'rentMany'>;

/** Creates the instance changes over one requester (specification 4.6, 4.7). None is ever repeated. */
export function createInstanceChanges(requester: Requester): Changes {
  const put = (change: InstanceChange): Promise<ChangeAnswer> =>
    sendChange(requester, { ...change, area: 'instances', endpointClass: 'change', method: 'PUT' });

  const setState = (id: MarketplaceId, state: 'running' | 'stopped', bounds?: CallOptions) =>
    put({ operation: `${OPERATION[state]} an instance`, path: instancePath(id), body: { state }, bounds });

  const setStates = (ids: readonly MarketplaceId[], state: 'running' | 'stopped', bounds?: CallOptions) =>
    put({
      operation: `${OPERATION[state]} many instances`,
      path: '/api/v0/instances/',
      body: { state, ids: ids.map(instanceNumber) },
      bounds,
    });

  return {
    stop: async (id, options) => setState(id, 'stopped', options),
    start: async (id, options) => setState(id, 'running', options),
    stopMany: async (ids, options) => setStates(ids, 'stopped', options),
    startMany: async (ids, options) => setStates(ids, 'running', options),
    label: async (id, label, bounds) =>
      put({ operation: 'label an instance', path: instancePath(id), body: { label }, bounds }),
    reboot: async (id, bounds) =>
      put({ operation: 'reboot an instance', path: instancePath(id, 'reboot'), body: {}, bounds }),
    recycle: async (id, bounds) =>
      put({ operation: 'recycle an instance', path: instancePath(id, 'recycle'), body: {}, bounds }),
    changeBid: async (id, bid, bounds) =>
      put({ operation: 'change a bid', path: instancePath(id, 'bid_price'), body: bidBody(bid), bounds }),
    requestLogs: async (id, query, options) => requestLogs(requester, { id, query, options }),
    runCommand: async (id, command, options) => runCommand(requester, { id, command, options }),
    destroy: async (id, bounds) =>
      destroy(requester, { operation: 'destroy an instance', path: instancePath(id), body: {}, bounds }),
    destroyMany: async (ids, bounds) =>
      destroy(requester, {
        operation: 'destroy many instances',
        path: '/api/v0/instances/',
        body: { instance_ids: ids.map(instanceNumber) },
        bounds,
      }),
  };
}

/** Sends a destroy call, whose class has priority over all others. */
function destroy(requester: Requester, change: InstanceChange): Promise<ChangeAnswer> {
  return sendChange(requester, {
    ...change,
    area: 'instances',
    endpointClass: 'destroy',
    method: 'DELETE',
  });
}

/** Returns the body of a bid; null requests the price that wins now. */
function bidBody(bidPerHour: MicroDollars | null) {
  return { client_id: 'me', price: bidPerHour === null ? null : bidPerHour / 1_000_000 };
}

const OPERATION = { running: 'start', stopped: 'stop' } as const;

const instanceNumber = (id: MarketplaceId): number => toWireId(id, 'instanceId');

function instancePath(id: MarketplaceId, verb?: string): string {
  return `/api/v0/instances/${verb === undefined ? '' : `${verb}/`}${pathId(id, 'instanceId')}/`;
}

/** Requests the logs. Although a PUT, the call changes nothing, so it may be repeated. */
async function requestLogs(
  requester: Requester,
  {
    id,
    query = {},
    options,
  }: { id: MarketplaceId; query?: LogQuery | undefined; options?: CallOptions | undefined },
) {
  const { value, answeredAt } = await requester.send({
    operation: 'request logs',
    endpointClass: 'other',
    area: 'instances',
    effect: 'read',
    method: 'PUT',
    path: instancePath(id, 'request_logs'),
    body: {
      filter: query.filter,
      tail: query.tailLines === undefined ? undefined : String(query.tailLines),
      daemon_logs: query.daemonLogs === undefined ? undefined : String(query.daemonLogs),
    },
    reply: resultReply,
    bounds: options,
  });
  return { answeredAt, message: value.msg, resultUrl: value.result_url };
}

/** Runs a command once: it may delete files. */
async function runCommand(
  requester: Requester,
  { id, command, options }: { id: MarketplaceId; command: string; options: CallOptions | undefined },
): Promise<ResultAnswer> {
  const { value, answeredAt } = await requester.send({
    operation: 'run a command on the files of an instance',
    endpointClass: 'command',
    area: 'instances',
    effect: 'write',
    method: 'PUT',
    path: instancePath(id, 'command'),
    body: { command },
    reply: resultReply,
    bounds: options,
  });
  return { answeredAt, message: value.msg, resultUrl: value.result_url };
}
