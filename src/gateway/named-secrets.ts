import { inBackground } from '../lib/background.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { secretResource } from '../runtime/kube/core-resources.ts';
import type { KubeClient } from '../runtime/kube/kube-client.ts';
import { type KubeObject, type ObjectRef, objectKey, refOfKey } from '../runtime/kube/kube-object.ts';

/** Data of a Secret by its keys, decoded. */
export type SecretData = ReadonlyMap<string, string>;

/** State of a Secret. `unread`: not read yet. */
export type KnownSecret =
  | { readonly type: 'unread' }
  | { readonly type: 'absent' }
  | { readonly type: 'present'; readonly version: string; readonly data: SecretData };

interface SecretObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>> | null;
}

export interface NamedSecretsOptions {
  readonly client: Pick<KubeClient, 'get'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called after a Secret of this key (`namespace/name`) was read first, or changed. */
  readonly onChange: (key: string) => void;
}

/** Interval between reads of each Secret, milliseconds. */
export const SECRET_READ_MS = 30_000;
/** Interval after a failed read, and for a missing Secret, milliseconds: requests wait for its data. */
export const RETRY_MS = 2_000;

interface Followed {
  known: KnownSecret;
  failure: string | undefined;
  timer: Timer | undefined;
}

const UNREAD: KnownSecret = { type: 'unread' };

/**
 * Secrets that are referenced by name. Each is read by a separate GET every 30 s, or every 2 s until it exists.
 * Without a list or a watch, this process needs no permission for any other Secret. The last data remain in use while
 * the API server is unreachable.
 */
export class NamedSecrets {
  readonly #options: NamedSecretsOptions;
  readonly #followed = new Map<string, Followed>();

  constructor(options: NamedSecretsOptions) {
    this.#options = options;
  }

  /** Follows exactly these Secrets. It reads new ones immediately and drops the others. */
  follow(refs: readonly ObjectRef[]): void {
    const named = new Set(refs.map(objectKey));
    for (const key of this.#followed.keys()) if (!named.has(key)) this.#forget(key);
    for (const key of named) {
      if (this.#followed.has(key)) continue;
      this.#followed.set(key, { known: UNREAD, failure: undefined, timer: undefined });
      this.#readSoon(key);
    }
  }

  /** Returns the state of a Secret; `unread` for one that is not followed. */
  known(ref: ObjectRef): KnownSecret {
    return this.#followed.get(objectKey(ref))?.known ?? UNREAD;
  }

  /** Forgets all Secrets. */
  stop(): void {
    this.follow([]);
  }

  #forget(key: string): void {
    this.#followed.get(key)?.timer?.cancel();
    this.#followed.delete(key);
  }

  #readSoon(key: string): void {
    const followed = this.#followed.get(key);
    if (!followed) return;
    followed.timer?.cancel();
    followed.timer = undefined;
    const subject = { task: 'read of a Secret', object: key };
    inBackground(
      subject,
      () => this.#read(key, followed),
      (error) => this.#options.log.error('Cannot apply a Secret', { secret: key, error }),
    );
  }

  async #read(key: string, followed: Followed): Promise<void> {
    const { client, clock } = this.#options;
    let nextMs = RETRY_MS;
    try {
      const found = await client.get<SecretObject>(secretResource, refOfKey(key));
      if (found) nextMs = SECRET_READ_MS;
      if (this.#followed.get(key) === followed) this.#learn(key, followed, found);
    } catch (error) {
      this.#failed(key, followed, error);
    }
    if (this.#followed.get(key) !== followed) return;
    followed.timer = clock.setTimer(nextMs, () => this.#readSoon(key), { background: true });
  }

  #learn(key: string, followed: Followed, found: SecretObject | undefined): void {
    const before = followed.known;
    const known = knownOf(found);
    followed.known = known;
    followed.failure = undefined;
    const isSame =
      before.type === 'present' && known.type === 'present'
        ? before.version === known.version
        : before.type === known.type;
    if (!isSame) this.#options.onChange(key);
  }

  #failed(key: string, followed: Followed, error: unknown): void {
    const failure = error instanceof Error ? error.message : String(error);
    if (followed.failure !== failure)
      this.#options.log.warn('A Secret cannot be read', { secret: key, problem: failure });
    followed.failure = failure;
  }
}

function knownOf(found: SecretObject | undefined): KnownSecret {
  if (!found) return { type: 'absent' };
  const entries = Object.entries(found.data ?? {}).map(
    ([name, value]) => [name, Buffer.from(value, 'base64').toString('utf8')] as const,
  );
  return {
    type: 'present',
    version: `${found.metadata.uid}/${found.metadata.resourceVersion}`,
    data: new Map(entries),
  };
}
