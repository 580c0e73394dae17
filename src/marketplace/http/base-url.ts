import { MarketplaceError } from '../errors/errors.ts';

/** Where requests of a client go. */
export interface BaseUrl {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path before every call's own, without a final slash; mostly empty. */
  readonly prefix: string;
}

/** Takes a base address apart. Rejects one with credentials, query or fragment, or that is no http address. */
export function parseBaseUrl(text: string): BaseUrl {
  const url = URL.parse(text);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw invalid('must be an http or https address');
  if (url.username || url.password) throw invalid('must not contain a user name or password');
  if (url.search || url.hash) throw invalid('must not contain a query or a fragment');
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}

function invalid(why: string): MarketplaceError {
  return new MarketplaceError(`the marketplace's base URL ${why}, e.g. https://console.example`, {
    kind: 'invalidRequest',
    outcome: 'refused',
  });
}
