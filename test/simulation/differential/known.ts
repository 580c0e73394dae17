import { isObject, metadataOf, textAt } from '../memory-kube/json.ts';
import type { Client, Uid, Version } from './operations.ts';
import type { Reply } from './servers.ts';

interface KnownObject {
  readonly first: string | undefined;
  readonly latest: string | undefined;
  readonly uid: string | undefined;
}

/** Belongs to no object. */
const WRONG_UID = '00000000-0000-0000-0000-000000000000';

/** Replies that each client received about each name: the versions and UIDs that it can refer to. */
export class Known {
  readonly #objects = new Map<string, KnownObject>();
  /** Versions of all objects and clients, in the order of the replies. */
  readonly #versions: string[] = [];

  remember(client: Client, name: string, { status, body }: Reply): void {
    if (status >= 300 || !isObject(body) || body['kind'] === 'Status') return;
    const metadata = metadataOf(body);
    const latest = textAt(metadata, 'resourceVersion');
    const before = this.#objects.get(keyOf(client, name));
    const uid = textAt(metadata, 'uid');
    this.#objects.set(keyOf(client, name), { first: before?.first ?? latest, latest, uid });
    if (latest !== undefined) this.#versions.push(latest);
  }

  version(client: Client, name: string, version: Version): string | undefined {
    switch (version) {
      case 'none':
        return undefined;
      case 'bogus':
        return '1';
      default:
        return this.#objects.get(keyOf(client, name))?.[version];
    }
  }

  /** Returns the UID of a request; undefined for `none`, an invented one if the client does not know the right one. */
  uid(client: Client, name: string, uid: Uid): string | undefined {
    if (uid === 'none') return undefined;
    const known = this.#objects.get(keyOf(client, name))?.uid;
    return uid === 'right' && known ? known : WRONG_UID;
  }

  get firstVersion(): string | undefined {
    return this.#versions[0];
  }

  /** Versions are compared as numbers, which Kubernetes has promised since 1.35. */
  get newestVersion(): string | undefined {
    return this.#versions.toSorted((a, b) => Number(b) - Number(a))[0];
  }
}

const keyOf = (client: Client, name: string): string => `${client} ${name}`;
