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
 * pages than the cap, a machine named twice, and, where nothing is filtered, an empty list that counts nothing and a sum
 * that the service's own totals rule out. Machines may come and go between pages, so the sum must lie between the least
 * and the greatest total named.
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
    checkCount(page);
    pages.push(page);
    afterToken = page.nextToken;
    checkToken(afterToken, tokens, pages.length);
  } while (afterToken !== null);
  return joined(pages, filters === undefined);
}

/** A page counts its own rows or all of them; anything else is a cut page. */
function checkCount({ instances, found, total }: InstancePage): void {
  if (found === undefined || found === instances.length || found === total) return;
  throw incompleteList(`a page names ${found} instances and holds ${instances.length}`);
}

function checkToken(token: string | null, seen: Set<string>, pages: number): void {
  if (token === null) return;
  if (seen.has(token)) throw incompleteList('a page token came twice');
  if (pages >= MAX_PAGES) throw incompleteList(`it has more than ${MAX_PAGES} pages`);
  seen.add(token);
}

function joined(pages: readonly InstancePage[], whole: boolean): readonly Instance[] {
  const rows = pages.flatMap((page) => page.instances);
  if (new Set(rows.map(({ id }) => id)).size !== rows.length)
    throw incompleteList('it names an instance twice');
  const totals = pages.flatMap(({ total }) => (total === undefined ? [] : [total]));
  const isCounted = pages.some(({ found, total }) => found !== undefined || total !== undefined);
  if (whole && rows.length === 0 && !isCounted) throw incompleteList('it is empty and counts nothing');
  const outside = rows.length < Math.min(...totals) || rows.length > Math.max(...totals);
  if (whole && totals.length > 0 && outside) {
    throw incompleteList(`it names ${totals.at(-1)} instances and holds ${rows.length}`);
  }
  return rows;
}
