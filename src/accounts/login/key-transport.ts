import { Secret } from '../../lib/secret.ts';
import { type Transport, TransportError } from '../../lib/transport.ts';

/** What a key may be used for. `teardown`: the user's Secret is gone, so nothing but reading and destroying. */
export type KeyUse = 'full' | 'teardown';

interface HeldKey {
  readonly key: Secret;
  readonly use: KeyUse;
}

/**
 * The proven keys of one login, by account. Requests take one that holds when they leave, the most capable
 * first; without any nothing leaves.
 */
export class KeyHolder {
  readonly #byAccount = new Map<string, HeldKey>();

  set(accountUid: string, key: Secret, use: KeyUse): void {
    this.#byAccount.set(accountUid, { key, use });
  }

  remove(accountUid: string): void {
    this.#byAccount.delete(accountUid);
  }

  /** Undefined where no key is in force. */
  inForce(): HeldKey | undefined {
    const held = [...this.#byAccount.values()];
    return held.find((entry) => entry.use === 'full') ?? held[0];
  }
}

/**
 * Sends each request with the key in force, so that a client outlives a change of its key, and lets nothing
 * pass that the key may not be used for. What is refused here was certainly not sent.
 */
export function keyTransport(transport: Transport, holder: KeyHolder): Transport {
  return async (request) => {
    const held = holder.inForce();
    if (!held) throw new TransportError('no proven key is in force for this login', { sent: false });
    if (held.use === 'teardown' && request.method !== 'GET' && request.method !== 'DELETE') {
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
