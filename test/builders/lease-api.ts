import type { KubeClient } from '../../src/runtime/kube/kube-client.ts';
import { KubeError } from '../../src/runtime/kube/kube-error.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';

/** The one Lease that candidates share, in memory, with the API server's rules for versions. */
export interface LeaseApi {
  readonly clientOf: (network?: LeaseNetwork) => KubeClient;
  lease(): (KubeObject & { readonly spec?: Record<string, unknown> }) | undefined;
  /** Edits the Lease as a person with kubectl does. */
  edit(spec: Record<string, unknown>): void;
  remove(): void;
  readonly writes: () => number;
  readonly reads: () => number;
}

/** Faults between a candidate and the API server. */
export interface LeaseNetwork {
  down: boolean;
  /** Carries out the next write but never answers it. */
  hangsOnce?: boolean;
  /** The namespace of the Lease does not exist. */
  noNamespace?: boolean;
  /** A watch tells each change. Absent: watching fails. A `deaf` one stays open and tells nothing. */
  watch?: 'tells' | 'deaf';
}

const failure = (
  kind: 'conflict' | 'alreadyExists' | 'notFound' | 'unavailable',
  status: number,
): KubeError =>
  new KubeError(kind, { kind, status, reason: kind, outcome: status === 0 ? 'unknown' : 'refused' });

export function createLeaseApi(): LeaseApi {
  type Lease = KubeObject & { readonly spec?: Record<string, unknown> };
  let stored: Lease | undefined;
  let version = 0;
  let writes = 0;
  let reads = 0;
  const watches = new Set<(line: string) => void>();
  const store = <T extends KubeObject>(object: T): T => {
    version++;
    writes++;
    const next = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    stored = next;
    for (const send of watches) send(`${JSON.stringify({ type: 'MODIFIED', object: next })}\n`);
    return next;
  };
  async function* watched(network: LeaseNetwork): AsyncGenerator<Uint8Array> {
    const lines: string[] = [];
    let wake = (): void => {};
    const send = (line: string): void => {
      if (network.watch === 'tells') lines.push(line);
      wake();
    };
    watches.add(send);
    try {
      for (;;) {
        for (const line of lines.splice(0)) yield Buffer.from(line);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      watches.delete(send);
    }
  }
  const clientOf = (network: LeaseNetwork = { down: false }): KubeClient => {
    const reach = () => {
      if (network.down) throw failure('unavailable', 0);
    };
    const refuse = () => Promise.reject(failure('unavailable', 0));
    return {
      async get<T extends KubeObject>() {
        reach();
        reads++;
        return stored as unknown as T | undefined;
      },
      async create(_resource, object) {
        reach();
        if (network.noNamespace) throw failure('notFound', 404);
        if (stored) throw failure('alreadyExists', 409);
        return store(object);
      },
      async replace(_resource, object) {
        reach();
        if (!stored) throw failure('notFound', 404);
        if (stored.metadata.resourceVersion !== object.metadata.resourceVersion)
          throw failure('conflict', 409);
        const next = store(object);
        if (!network.hangsOnce) return next;
        network.hangsOnce = false;
        return new Promise(() => {});
      },
      async stream() {
        reach();
        if (!network.watch) throw failure('unavailable', 0);
        return { status: 200, headers: {}, body: watched(network), destroy() {} };
      },
      list: refuse,
      patch: refuse,
      delete: refuse,
    };
  };
  return {
    clientOf,
    lease: () => stored,
    edit(spec) {
      if (!stored) throw new Error('There is no lease to edit');
      store({ ...stored, spec: { ...stored.spec, ...spec } });
    },
    remove() {
      stored = undefined;
    },
    writes: () => writes,
    reads: () => reads,
  };
}
