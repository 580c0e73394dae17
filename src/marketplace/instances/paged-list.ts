import { MarketplaceError } from '../errors/errors.ts';
import type { CallOptions } from '../offers/offers.ts';
import type { Instance } from './instance.ts';
import { incompleteList } from './instance-reads.ts';
import type { InstancePage, InstancesResource, PageQuery } from './instances.ts';

/** More pages than any account has: 25,000 machines. */
const MAX_PAGES = 1_000;

/** What is read page by page. */
export interface PagedQuery extends CallOptions {
  readonly filters?: PageQuery['filters'];
}

/** All machines, whole or by pages: pages where the service says that the whole list is gone. */
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
 * All pages of the paged list, or a MarketplaceError: never a part. Rejected are a token that comes twice, more
 * pages than the cap, a machine named twice, and a sum that the service's own counts rule out; where nothing is filtered,
 * an empty list that counts nothing, too. Machines may come and go between pages, so the sum must lie between the least
 * and the greatest count named.
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

/** A page of all machines counts its own rows or all of them; anything else is a cut page. */
function checkPage({ instances, found, total }: InstancePage): void {
  if (found === undefined || found === instances.length || found === total) return;
  throw incompleteList(`a page names ${found} instances and holds ${instances.length}`);
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
    throw incompleteList(`it names ${totals.at(-1)} instances and holds ${rows.length}`);
  }
  return rows;
}

/**
 * With a filter `found` counts what matches, on each page its own rows or on each page those of all pages (wire
 * reference, section 7); the total goes on counting all machines.
 */
function filteredList(pages: readonly InstancePage[]): readonly Instance[] {
  const rows = joined(pages);
  const counted = pages.flatMap(({ instances, found }) =>
    found === undefined ? [] : [{ held: instances.length, found }],
  );
  if (counted.every(({ held, found }) => found === held)) return rows;
  // A page that counts itself alone beside one that does not is no count of all pages: that other one was cut.
  const countsAll = counted.every(({ held, found }) => found > held || held === rows.length);
  const founds = counted.map(({ found }) => found);
  if (countsAll && isBetween(rows.length, founds)) return rows;
  throw incompleteList(`its pages name ${founds.join(', ')} instances and hold ${rows.length} together`);
}

function joined(pages: readonly InstancePage[]): readonly Instance[] {
  const rows = pages.flatMap((page) => page.instances);
  if (new Set(rows.map(({ id }) => id)).size !== rows.length)
    throw incompleteList('it names an instance twice');
  return rows;
}

const isBetween = (count: number, counts: readonly number[]): boolean =>
  count >= Math.min(...counts) && count <= Math.max(...counts);
