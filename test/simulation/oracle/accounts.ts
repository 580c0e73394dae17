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

  /** An account was written or removed. */
  committed(account: JsonObject, type: Commit['type']): void {
    const [to, from] = type === 'DELETED' ? [this.#gone, this.#standing] : [this.#standing, this.#gone];
    to.set(keyOf(account), account);
    from.delete(keyOf(account));
  }

  /** Those that stand. */
  all(): readonly JsonObject[] {
    return [...this.#standing.values()];
  }

  /** Those that are gone and were not made anew. */
  gone(): readonly JsonObject[] {
    return [...this.#gone.values()];
  }

  /** By namespace/name, also one that is gone; an empty object where there was none. */
  get(key: string): JsonObject {
    return this.#standing.get(key) ?? this.#gone.get(key) ?? {};
  }

  /** Those that have proved that login, or none so far; of any login where none is given. */
  ofLogin(userId: number | undefined): readonly JsonObject[] {
    return this.all().filter((account) => isOfLogin(account, userId));
  }

  /** Whether one of them lists that machine as kept on purpose. */
  keeps(instanceId: number): boolean {
    return [...this.all(), ...this.gone()].some((account) =>
      listAt(statusAt(account), 'retained')
        .filter(isObject)
        .some((kept) => idAt(kept, 'instanceId') === instanceId),
    );
  }
}

/** namespace/name of the account by which an object rents. */
export function accountKeyOf(object: JsonObject): string {
  const { namespace: own } = metadataOf(object);
  const { name = 'default', namespace = own } = objectAt(objectAt(object, 'spec'), 'accountRef');
  return `${String(namespace)}/${String(name)}`;
}

/** Whether an account has proved that login, or none so far; any login where none is given. */
export function isOfLogin(account: JsonObject, userId: number | undefined): boolean {
  const login = idAt(objectAt(statusAt(account), 'login'), 'userId');
  return login === undefined || userId === undefined || login === userId;
}

/** What an account may spend in sum. */
export const limitsOf = (account: JsonObject): JsonObject => objectAt(objectAt(account, 'spec'), 'limits');

/** Whether its sweep waits for a person, or for its breaker to close. */
export function holdsSweep(account: JsonObject): boolean {
  const status = statusAt(account);
  return objectAt(status, 'breaker')['open'] === true || /OrphansHeld|OrphansHeld/.test(textOf(status));
}

/** Whether that machine lost its object together with many, and waits for its turn since a person has confirmed. */
export function isSweptSlowly(account: JsonObject, id: number): boolean {
  const confirmed = statusAt(account)['orphansConfirmed'];
  return Array.isArray(confirmed) && confirmed.includes(String(id));
}

/** Whether a person has looked at the machines that a restored cluster knows nothing of. */
export function isRollbackConfirmed(account: JsonObject): boolean {
  const annotations = objectAt(metadataOf(account), 'annotations');
  return textAt(annotations, 'gpurental.dev/confirm-rollback') !== undefined;
}

/** Whether a person has confirmed that machines which lost their objects in mass may go. */
export function areOrphansConfirmed(account: JsonObject): boolean {
  const annotations = objectAt(metadataOf(account), 'annotations');
  return textAt(annotations, 'gpurental.dev/confirm-orphans') !== undefined;
}

/**
 * How many of so many machines may be bad before the breaker opens: by decision 0005 an exact share, one at least unless
 * none is tolerated. Undefined if any number may.
 */
export function allowedBadOf(maxUnhealthy: Json, machines: number): number | undefined {
  const percent = typeof maxUnhealthy === 'string' ? Number.parseInt(maxUnhealthy, 10) : undefined;
  if (percent === undefined) return Number(maxUnhealthy);
  if (percent >= 100) return undefined;
  return Math.max(percent > 0 ? 1 : 0, Math.floor((percent * machines) / 100));
}

/** What the status of an account says of its breaker: since when it is open, and when it was released. */
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
