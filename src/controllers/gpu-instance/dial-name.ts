import { isIP } from 'node:net';
import { type Dialed, type DialPolicy, dial } from '../../reach/dial.ts';

export interface DialOptions extends DialPolicy {
  /** Returns every address of a name. Rejects if there is none. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
}

/**
 * Resolves the host that a marketplace names. Returns the first of its addresses to which a process may connect, or
 * the reason why there is none, without a full stop. The caller connects to the returned address, so that a changed
 * name has no effect.
 */
export async function dialName(
  target: { readonly host: string; readonly timeoutMs: number },
  options: DialOptions,
): Promise<Dialed> {
  let problem = 'its name leads to no address';
  for (const address of await addressesOf(target, options)) {
    const found = dial(address, options);
    if ('host' in found) return found;
    problem = `its address ${found.problem}`;
  }
  return { problem };
}

async function addressesOf(
  { host, timeoutMs }: { readonly host: string; readonly timeoutMs: number },
  { resolve }: DialOptions,
): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  const late = Promise.withResolvers<readonly string[]>();
  // oxlint-disable-next-line no-restricted-properties -- a resolver of Node, which no simulation drives
  AbortSignal.timeout(timeoutMs).addEventListener('abort', () => late.resolve([]), { once: true });
  return Promise.race([resolve(host).catch(() => []), late.promise]);
}
