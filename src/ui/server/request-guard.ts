import { PAGE_HEADER } from '../protocol.ts';

/** The headers of a request that decide whether it may come from the page. */
export interface GuardedRequest {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Answer to a refused request. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
}

/**
 * Returns the refusal of a request that another site may have caused; undefined for one of the page, a person or a program
 * on this machine. `port`: the port of this process. A name that resolves to this machine (DNS rebinding) has another
 * `Host`; a form or script of another site has another `Origin`, no {@link PAGE_HEADER} and no JSON.
 */
export function refusalOf({ method, headers }: GuardedRequest, port: number): Refusal | undefined {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  const { host, origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers;
  if (typeof host !== 'string' || !hosts.includes(host))
    return { status: 403, message: 'Only requests to this machine by its own name are answered.' };
  if (origin !== undefined && origin !== `http://${host}`)
    return { status: 403, message: 'Requests of other sites are refused.' };
  const isNavigation = method === 'GET' && mode === 'navigate';
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !isNavigation)
    return { status: 403, message: 'Requests of other sites are refused.' };
  if (method === 'GET') return undefined;
  if (method !== 'POST') return { status: 405, message: 'Only GET and POST are answered.' };
  const type = headers['content-type'];
  const isJson = typeof type === 'string' && /^application\/json(;|$)/i.test(type);
  if (!isJson) return { status: 415, message: 'A POST needs the content type application/json.' };
  if (headers[PAGE_HEADER] === undefined)
    return { status: 403, message: 'A POST needs the header of the page.' };
  return undefined;
}
