import {
  idAt,
  isObject,
  type Json,
  type JsonObject,
  listAt,
  metadataOf,
  objectAt,
  textAt,
  textOf,
} from '../memory-kube/json.ts';
import type { Commit } from '../memory-kube/store.ts';
import { statusAt } from '../status-at.ts';

/** MarketplaceAccounts as etcd holds them, and as they were when they went. */
export class Accounts {
  readonly #standing = new Map<string, JsonObject>();
  readonly #gone = new Map<string, JsonObject>();

  /** Records a written or removed account. */
  committed(account: JsonObject, type: Commit['type']): void {
    const [to, from] = type === 'DELETED' ? [this.#gone, this.#standing] : [this.#standing, this.#gone];
    to.set(keyOf(account), account);
    from.delete(keyOf(account));
  }

  /** Returns the existing accounts. */
  all(): readonly JsonObject[] {
    return [...this.#standing.values()];
  }

  /** Returns the deleted accounts that were not recreated. */
  gone(): readonly JsonObject[] {
    return [...this.#gone.values()];
  }

  /** Returns the account of namespace/name, also a deleted one; an empty object if it never existed. */
  get(key: string): JsonObject {
    return this.#standing.get(key) ?? this.#gone.get(key) ?? {};
  }

  /** Returns the accounts with that verified login, or with none so far; of any login if none is given. */
  ofLogin(userId: number | undefined): readonly JsonObject[] {
    return this.all().filter((account) => isOfLogin(account, userId));
  }

  /** Returns true if one of them lists that machine as kept on purpose. */
  keeps(instanceId: number): boolean {
    return [...this.all(), ...this.gone()].some((account) =>
      listAt(statusAt(account), 'retained')
        .filter(isObject)
        .some((kept) => idAt(kept, 'instanceId') === instanceId),
    );
  }
}

/** Returns namespace/name of the account of an object. */
export function accountKeyOf(object: JsonObject): string {
  const { namespace: own } = metadataOf(object);
  const { name = 'default', namespace = own } = objectAt(objectAt(object, 'spec'), 'accountRef');
  return `${String(namespace)}/${String(name)}`;
}

/** Returns true if an account has verified that login, or none so far; any login if none is given. */
export function isOfLogin(account: JsonObject, userId: number | undefined): boolean {
  const login = idAt(objectAt(statusAt(account), 'login'), 'userId');
  return login === undefined || userId === undefined || login === userId;
}

/** Returns the account's limits on totals. */
export const limitsOf = (account: JsonObject): JsonObject => objectAt(objectAt(account, 'spec'), 'limits');

/** Returns true if its sweep waits for a person, or for its breaker to close. */
export function holdsSweep(account: JsonObject): boolean {
  const status = statusAt(account);
  return objectAt(status, 'breaker')['open'] === true || /OrphansHeld|OrphansHeld/.test(textOf(status));
}

/**
 * Returns true if that machine lost its object together with many others, and waits for its turn after a person's
 * confirmation.
 */
export function isSweptSlowly(account: JsonObject, id: number): boolean {
  const confirmed = statusAt(account)['orphansConfirmed'];
  return Array.isArray(confirmed) && confirmed.includes(String(id));
}

/** Returns true if a person has checked the machines that are unknown to a restored cluster. */
export function isRollbackConfirmed(account: JsonObject): boolean {
  const annotations = objectAt(metadataOf(account), 'annotations');
  return textAt(annotations, 'gpurental.dev/confirm-rollback') !== undefined;
}

/** Returns true if a person has confirmed the destroy of machines that lost their objects in mass. */
export function areOrphansConfirmed(account: JsonObject): boolean {
  const annotations = objectAt(metadataOf(account), 'annotations');
  return textAt(annotations, 'gpurental.dev/confirm-orphans') !== undefined;
}

/**
 * Returns how many of these machines may be bad before the breaker opens: by decision 0005 an exact share, at least one
 * unless none is tolerated. Undefined if any number may.
 */
export function allowedBadOf(maxUnhealthy: Json, machines: number): number | undefined {
  const percent = typeof maxUnhealthy === 'string' ? Number.parseInt(maxUnhealthy, 10) : undefined;
  if (percent === undefined) return Number(maxUnhealthy);
  if (percent >= 100) return undefined;
  return Math.max(percent > 0 ? 1 : 0, Math.floor((percent * machines) / 100));
}

/** Returns the breaker in the status of an account: the start of its open state, and its release. */
export function breakerRecordOf(account: JsonObject): {
  readonly since: number | undefined;
  readonly releasedAt: number | undefined;
} {
  const { open, since, releasedAt } = objectAt(statusAt(account), 'breaker');
  return {
    since: open === true ? Date.parse(String(since)) : undefined,
    releasedAt: releasedAt === undefined ? undefined : Date.parse(String(releasedAt)),
  };
}

function keyOf(account: JsonObject): string {
  const { namespace, name } = metadataOf(account);
  return `${String(namespace)}/${String(name)}`;
}
