import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Prober } from '../../src/controllers/gpu-instance/probe.ts';
import type { Containers } from './containers.ts';

/** Characters that a request line cannot contain (`node:_http_client`). */
const UNSENDABLE = /[^\u0021-\u00ff]/;
/** Node throws for it once the request has no body. */
const NEEDS_CHUNKS = 'trailer';

/** A path at which a machine keeps the first probe for ever, as one that switches protocols may. */
export const KEEPS_FIRST = '/keeps-first';

/**
 * Returns the prober of one process. Every container answers except silent ones. Requests that Node refuses to send
 * throw the same errors, and no request reaches a network.
 */
export function simulatedProber(containers: Containers): Prober {
  const kept = new Set<string>();
  return async ({ http, host, port }) => {
    if (containers.faultAt(port)?.type === 'silent') return 'refuses the connection';
    if (!http) return undefined;
    throwAsNode(http);
    const machine = `${host}:${port}`;
    if (http.path !== KEEPS_FIRST || kept.has(machine)) return undefined;
    kept.add(machine);
    return new Promise<never>(() => {});
  };
}

/** Throws a TypeError where Node would. */
export function throwAsNode({
  path,
  headers,
}: {
  readonly path: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
}): void {
  if (UNSENDABLE.test(path)) throw new TypeError('Request path contains unescaped characters');
  for (const { name, value } of headers) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    if (name.toLowerCase() === NEEDS_CHUNKS)
      throw new TypeError('Trailers are invalid with this transfer encoding');
  }
}
