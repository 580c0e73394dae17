import type { Secret } from '../../lib/secret.ts';
import { TransportError } from '../../lib/transport.ts';
import { NoUsableKey } from '../../marketplace/errors/classify-failure.ts';
import type { KeySource } from '../../marketplace/http/call.ts';

/** What a key may be used for. `teardown`: the user's Secret is gone, so nothing but reading and destroying. */
export type KeyUse = 'full' | 'teardown';

interface HeldKey {
  readonly key: Secret;
  readonly use: KeyUse;
  /** False for a narrow key: it proves its login and may read, but it may not destroy. */
  readonly mayDestroy: boolean;
}

/**
 * The proven keys of one login, by account. Accounts of a login share reads only: a read leaves with the most
 * capable key of them all, a write only with the key of the account in whose name it is made. A key is chosen at
 * the moment of sending; without a suitable one the request is certainly not sent.
 */
export class LoginKeys {
  readonly #byAccount = new Map<string, HeldKey>();

  set(accountUid: string, held: HeldKey): void {
    this.#byAccount.set(accountUid, held);
  }

  remove(accountUid: string): void {
    this.#byAccount.delete(accountUid);
  }

  /** For what all accounts share: it only ever reads. */
  readonly forReads: KeySource = ({ effect, method }) => {
    if (effect !== 'read') throw noKey('a write needs the key of one account, and accounts share reads only');
    const held = [...this.#byAccount.values()].filter(({ use }) => use === 'full' || method === 'GET');
    const best = held.toSorted((a, b) => readRank(a) - readRank(b))[0];
    if (!best) throw new TransportError('no proven key is in force for this login', { sent: false });
    return best.key;
  };

  /** For one account: its reads are shared, its writes leave with its own key or not at all. */
  of(accountUid: string): KeySource {
    return (call) => (call.effect === 'read' ? this.forReads(call) : this.#ownKey(accountUid, call.method));
  }

  #ownKey(accountUid: string, method: string): Secret {
    const own = this.#byAccount.get(accountUid);
    if (!own) throw noKey('no proven key of this account is in force');
    if (!own.mayDestroy) throw noKey('the key of this account may not write');
    if (own.use === 'teardown' && method !== 'DELETE')
      throw noKey('a kept key is for listing and destroying only');
    return own.key;
  }
}

/** A kept key of a login reads more than a narrow one of the user's. */
function readRank({ use, mayDestroy }: HeldKey): number {
  if (!mayDestroy) return 2;
  return use === 'full' ? 0 : 1;
}

const noKey = (message: string): TransportError =>
  new TransportError(message, { sent: false, cause: new NoUsableKey(message) });
