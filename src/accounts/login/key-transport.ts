import { Secret } from '../../lib/secret.ts';
import { type Transport, TransportError } from '../../lib/transport.ts';

/** What a key may be used for. `teardown`: the user's Secret is gone, so nothing but reading and destroying. */
export type KeyUse = 'full' | 'teardown';

interface HeldKey {
  readonly key: Secret;
  readonly use: KeyUse;
  /** A narrow key proves its login, and may do little beside. */
  readonly mayDestroy: boolean;
}

/**
 * The proven keys of one login, by account. Requests take one that holds when they leave, the most capable
 * first, so that a narrow key of one account hinders no other; without any nothing leaves.
 */
export class KeyHolder {
  readonly #byAccount = new Map<string, HeldKey>();

  set(accountUid: string, held: HeldKey): void {
    this.#byAccount.set(accountUid, held);
  }

  remove(accountUid: string): void {
    this.#byAccount.delete(accountUid);
  }

  /** The key for a request of that method; undefined where no key is in force. */
  inForce(method: string): HeldKey | undefined {
    const held = [...this.#byAccount.values()];
    return held.toSorted((a, b) => rankFor(method, a) - rankFor(method, b))[0];
  }
}

/** For reading and destroying a kept key is better than a narrow one of the user's; for anything else it is none. */
function rankFor(method: string, { use, mayDestroy }: HeldKey): number {
  if (use === 'full' && mayDestroy) return 0;
  return (use === 'teardown') === isTeardown(method) ? 1 : 2;
}

const isTeardown = (method: string): boolean => method === 'GET' || method === 'DELETE';

/**
 * Sends each request with the key in force, so that a client outlives a change of its key, and lets nothing
 * pass that the key may not be used for. What is refused here was certainly not sent.
 */
export function keyTransport(transport: Transport, holder: KeyHolder): Transport {
  return async (request) => {
    const held = holder.inForce(request.method);
    if (!held) throw new TransportError('no proven key is in force for this login', { sent: false });
    if (held.use === 'teardown' && !isTeardown(request.method)) {
      throw new TransportError('a kept key is for listing and destroying only', { sent: false });
    }
    const headers = Object.entries(request.headers).filter(
      ([name]) => name.toLowerCase() !== 'authorization',
    );
    const authorization = `Bearer ${held.key.reveal()}`;
    return transport({ ...request, headers: { ...Object.fromEntries(headers), authorization } });
  };
}

/** Where a client wants a key of its own although its transport puts one in. */
export const NO_KEY = new Secret('unset');
