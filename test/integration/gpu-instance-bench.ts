import { afterAll, afterEach, beforeAll } from 'vitest';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../src/api/v1alpha1/names.ts';
import { IDENTITY_SECRET, type Identity, identityFromData } from '../../src/ownership/identity.ts';
import { secretResource } from '../../src/runtime/kube/core-resources.ts';
import {
  type BenchOptions,
  OperatorBench,
  type SecretWithData,
  type TapMoment,
} from '../builders/running-operator.ts';
import { until } from '../builders/until.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';

let cluster: ClusterAccess;
const benches: OperatorBench[] = [];

/** Registers what every suite of GpuInstances needs: the shared API server, and benches that end with their test. */
export function useBenches(): void {
  beforeAll(() => {
    cluster = sharedCluster();
  });
  afterEach(async () => {
    for (const bench of benches.splice(0)) await bench.close();
  });
}

/** Starts one operator with a ready account for all tests of a file; each test uses its own objects. */
export function useSharedBench(...options: Parameters<typeof readyBench>): () => OperatorBench {
  let bench: OperatorBench | undefined;
  beforeAll(async () => {
    cluster = sharedCluster();
    bench = await readyBench(...options);
    benches.splice(benches.indexOf(bench), 1);
  });
  afterAll(() => bench?.close());
  return () => {
    if (!bench) throw new Error('the operator is not there yet');
    return bench;
  };
}

/** Starts an operator with a ready account. */
export async function readyBench(
  options: BenchOptions & { readonly account?: Record<string, unknown> } = {},
): Promise<OperatorBench> {
  const bench = await OperatorBench.open(cluster, {
    ...options,
    // A short lease makes the deadline of a rent call short, and with it every settlement.
    flags: {
      leaderElectLeaseDuration: '5s',
      leaderElectRenewDeadline: '4s',
      leaderElectRetryPeriod: '500ms',
      ...options.flags,
    },
  });
  benches.push(bench);
  await bench.putKey(bench.simulator.apiKey);
  await bench.createAccount(options.account);
  await bench.start();
  await until(
    'the account is ready',
    async () => conditionOf(await bench.account(), 'Ready')?.status === 'True',
  );
  return bench;
}

interface Conditioned {
  readonly status?:
    | {
        readonly conditions?:
          | readonly {
              readonly type: string;
              readonly status: string;
              readonly reason: string;
              readonly message: string;
            }[]
          | undefined;
      }
    | undefined;
}

export function conditionOf(object: Conditioned | undefined, type: string) {
  return object?.status?.conditions?.find((condition) => condition.type === type);
}

/** Returns the instance once its Ready condition has this reason. */
export function reached(bench: OperatorBench, name: string, reason: string): Promise<GpuInstance> {
  let last: GpuInstance | undefined;
  return until(`${name} says ${reason}`, async () => {
    last = await bench.instance(name);
    return conditionOf(last, 'Ready')?.reason === reason ? last : undefined;
  }).catch((error: unknown) => {
    const ready = conditionOf(last, 'Ready');
    throw new Error(`${String(error)}; it says ${ready?.reason}: ${ready?.message}`);
  });
}

/** Makes an instance and waits until it runs. */
export async function running(
  bench: OperatorBench,
  name = 'job',
  spec: Record<string, unknown> = {},
): Promise<GpuInstance> {
  await bench.createInstance(name, spec);
  return reached(bench, name, 'Ready');
}

export async function deleteInstance(bench: OperatorBench, name = 'job'): Promise<void> {
  await bench.kube.delete(gpuInstanceResource, { namespace: bench.namespace, name });
}

export function goneFromCluster(bench: OperatorBench, name = 'job'): Promise<boolean> {
  return until(`${name} is gone`, async () => (await bench.instance(name)) === undefined);
}

export async function patchInstance(
  bench: OperatorBench,
  patch: Record<string, unknown>,
  name = 'job',
): Promise<void> {
  await bench.kube.patch(
    gpuInstanceResource,
    { namespace: bench.namespace, name },
    { type: 'merge', body: patch },
  );
}

/** Returns rent calls that reached the marketplace. */
export const rents = (bench: OperatorBench) => bench.callsTo('PUT', /\/asks\//);
/** Destroys; an account asks for the destroy of machine 0 to learn whether its key may. */
export const destroys = (bench: OperatorBench) => bench.callsTo('DELETE', /\/instances\/[1-9]/);

/** Returns the number of list calls for machines. */
export const lists = (bench: OperatorBench): number => bench.callsTo('GET', /\/instances\/$/).length;

/** Returns the identity with which the bench's operator signs. */
export async function identityOf(bench: OperatorBench): Promise<Identity> {
  const ref = { namespace: bench.namespace, name: IDENTITY_SECRET };
  const stored = await bench.kube.get<SecretWithData>(secretResource, ref);
  const fields = Object.entries(stored?.data ?? {});
  const identity = identityFromData(Object.fromEntries(fields.map(([name, text]) => [name, atob(text)])));
  if (!identity) throw new Error('the operator has no identity');
  return identity;
}

/** Returns the number of contracts ever created, from the simulator's ledger. */
export function contracts(bench: OperatorBench): number {
  const { tables } = bench.simulator.world();
  return Object.keys(tables.contracts).length + Object.keys(tables.endedContracts).length;
}

/** Kills the operator at the first moment that fits, and resolves once it is dead and its lease is free. */
export function crashAt(bench: OperatorBench, fits: (moment: TapMoment) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    bench.tap = (moment) => {
      if (!fits(moment)) return;
      bench.tap = undefined;
      bench.crash().then(resolve, reject);
    };
  });
}

/** The rent call at that moment. */
export const rentCall =
  (when: TapMoment['when']) =>
  (moment: TapMoment): boolean =>
    moment.when === when && moment.side === 'marketplace' && moment.path.includes('/asks/');

/**
 * Checks, with the simulator's ledger, that an object never has two live machines, until the returned function is
 * called.
 */
export function watchDoubles(bench: OperatorBench): () => void {
  let worst = 0;
  const timer = setInterval(() => {
    worst = Math.max(worst, bench.billing().length);
  }, 5);
  return () => {
    clearInterval(timer);
    if (worst > 1) throw new Error(`${worst} machines of one object billed at once`);
  };
}
