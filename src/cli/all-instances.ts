import { MarketplaceError } from '../market/errors.ts';
import type { MarketplaceClient } from '../markets/vast/client.ts';
import type { Instance } from '../markets/vast/instances/instance.ts';

const MAX_PAGES = 1_000;

/**
 * Returns every machine of the login: the list of the specification, or all pages if that list is no longer served.
 * Rejects with a MarketplaceError if a call fails.
 */
export async function allInstances({ instances }: MarketplaceClient): Promise<readonly Instance[]> {
  try {
    return (await instances.list()).instances;
  } catch (error) {
    if (!(error instanceof MarketplaceError) || error.kind !== 'gone') throw error;
    return everyPage({ instances });
  }
}

async function everyPage({ instances }: Pick<MarketplaceClient, 'instances'>): Promise<readonly Instance[]> {
  const rows: Instance[] = [];
  let afterToken: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { instances: more, nextToken } = await instances.page(
      afterToken === undefined ? {} : { afterToken },
    );
    rows.push(...more);
    if (nextToken === null) return rows;
    afterToken = nextToken;
  }
  throw new MarketplaceError(`list instances: more than ${MAX_PAGES} pages`, {
    kind: 'malformedReply',
    outcome: 'refused',
  });
}
