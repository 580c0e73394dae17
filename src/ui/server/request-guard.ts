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
 * `Host`; a script of another site has another `Origin`.
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
  return method === 'GET' ? undefined : { status: 405, message: 'Only GET is answered.' };
}
