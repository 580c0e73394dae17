import * as z from 'zod';
import { until } from '../../builders/until.ts';
import type { FluxBench } from './bench.ts';

const API = 'kustomize.toolkit.fluxcd.io/v1';
/** The GitRepository of the sample that the user brings. */
const USER_REPOSITORY = 'your-repository';

const condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string(),
  message: z.string(),
  lastTransitionTime: z.string(),
});

const kustomization = z.object({
  metadata: z.object({ generation: z.number() }),
  status: z
    .object({
      observedGeneration: z.number().optional(),
      conditions: z.array(condition).default([]),
      lastAppliedRevision: z.string().optional(),
      lastAttemptedRevision: z.string().optional(),
      lastHandledReconcileAt: z.string().optional(),
    })
    .default({ conditions: [] }),
});

/** A Kustomization as it is read. */
export type Kustomization = z.output<typeof kustomization>;
/** A condition of any object. */
export type ObservedCondition = z.output<typeof condition>;

/** Returns the manifest of a Kustomization for a folder of the user's repository; it prunes and waits. */
export const kustomizationOf = (name: string, path: string, spec: object = {}): object => ({
  apiVersion: API,
  kind: 'Kustomization',
  metadata: { name, namespace: 'flux-system' },
  spec: {
    ...{ interval: '10m', retryInterval: '2s', timeout: '1m', path, prune: true, wait: true },
    sourceRef: { kind: 'GitRepository', name: USER_REPOSITORY },
    ...spec,
  },
});

/** Returns the manifest of a repository, of which Flux sees what the artifact server publishes. */
export const gitRepositoryOf = (name: string): object => ({
  apiVersion: 'source.toolkit.fluxcd.io/v1',
  kind: 'GitRepository',
  metadata: { name, namespace: 'flux-system' },
  spec: { interval: '1h', url: `https://git.example/${name}`, ref: { branch: 'main' } },
});

export const readyOf = ({ status }: Kustomization): ObservedCondition | undefined =>
  status.conditions.find(({ type }) => type === 'Ready');

/** Reads and triggers the Kustomizations of `flux-system`. */
export interface Kustomizations {
  read(name: string): Promise<Kustomization>;
  /** Resolves with what `find` gives once that is neither undefined nor false; rejects with the last status. */
  found<T>(
    name: string,
    what: string,
    find: (it: Kustomization) => T | false | undefined,
  ): Promise<Exclude<T, false | undefined>>;
  /** Resolves with the Ready condition once Flux has ended its work on that revision, for better or worse. */
  ended(name: string, revision: string): Promise<ObservedCondition>;
  /** Resolves once Flux has applied the revision and found it healthy. */
  applied(name: string, revision: string): Promise<void>;
  /** Reconciles as `flux reconcile kustomization` does, and resolves when Flux has handled the request. */
  reconcile(name: string): Promise<void>;
  /** Asks for a reconciliation and waits for nothing. */
  request(name: string): Promise<string>;
}

/** Generous: the whole cluster may share two busy cores. */
export const LIMIT_MS = 180_000;

export function kustomizationsOf({ cluster, kubectl }: FluxBench): Kustomizations {
  const read = async (name: string) => {
    const path = `/apis/${API}/namespaces/flux-system/kustomizations/${name}`;
    return kustomization.parse((await cluster.admin.request({ method: 'GET', path })).body);
  };
  const request = async (name: string) => {
    const at = new Date().toISOString();
    const annotation = `reconcile.fluxcd.io/requestedAt=${at}`;
    await kubectl('annotate', 'ks', name, '-n=flux-system', '--overwrite', annotation);
    return at;
  };
  /** Resolves with what `find` gives for the Kustomization; rejects with its last status. */
  const found = async <T>(name: string, what: string, find: (it: Kustomization) => T | false | undefined) => {
    let last: Kustomization | undefined;
    const poll = async () => {
      last = await read(name);
      return find(last);
    };
    return until(`${name}: ${what}`, poll, LIMIT_MS).catch((error: Error) => {
      throw new Error(`${error.message}; its status is ${JSON.stringify(last?.status)}`);
    });
  };
  return {
    read,
    request,
    found,
    ended: (name, revision) =>
      found(name, `Flux ends its work on ${revision}`, (it) => {
        const ready = readyOf(it);
        return it.status.lastAttemptedRevision === revision && ready?.status !== 'Unknown' && ready;
      }),
    async applied(name, revision) {
      const what = `${revision} is applied and healthy`;
      await found(name, what, ({ status }) => status.lastAppliedRevision === revision);
    },
    async reconcile(name) {
      const at = await request(name);
      await found(name, 'Flux handles a request', ({ status }) => status.lastHandledReconcileAt === at);
    },
  };
}
