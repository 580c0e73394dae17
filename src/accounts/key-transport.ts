import type { Secret } from '../lib/secret.ts';
import { type Transport, TransportError } from '../lib/transport.ts';

/** What a key may be used for. `teardown`: the user's Secret is gone, so nothing but reading and destroying. */
export type KeyUse = 'full' | 'teardown' | 'none';

/** The key in force, and what it may do. It changes while requests run; each takes what holds when it leaves. */
export class KeyHolder {
  #key: Secret;
  #use: KeyUse;

  constructor(key: Secret, use: KeyUse) {
    this.#key = key;
    this.#use = use;
  }

  set(key: Secret, use: KeyUse): void {
    this.#key = key;
    this.#use = use;
  }

  /** Nothing leaves any more until {@link set}: the key was refused, or proves another login. */
  suspend(): void {
    this.#use = 'none';
  }

  key(): Secret {
    return this.#key;
  }

  use(): KeyUse {
    return this.#use;
  }
}

/**
 * Sends each request with the key in force, so that a client outlives a change of its key, and lets nothing
 * pass that the key may not be used for. What is refused here was certainly not sent.
 */
export function keyTransport(transport: Transport, holder: KeyHolder): Transport {
  return async (request) => {
    if (!isAllowed(holder.use(), request.method)) {
      throw new TransportError(`the key in force may not be used for ${request.method}`, { sent: false });
    }
    const headers = Object.entries(request.headers).filter(
      ([name]) => name.toLowerCase() !== 'authorization',
    );
    return transport({
      ...request,
      headers: { ...Object.fromEntries(headers), authorization: `Bearer ${holder.key().reveal()}` },
    });
  };
}

function isAllowed(use: KeyUse, method: string): boolean {
  switch (use) {
    case 'full':
      return true;
    case 'teardown':
      return method === 'GET' || method === 'DELETE';
    case 'none':
      return false;
  }
}
