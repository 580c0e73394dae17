import { reporterOf } from '../accounts/avoid-list.ts';
import type { Installation } from '../accounts/installation/installation.ts';
import type { NamespaceBudgets } from '../accounts/namespace-budgets.ts';
import { type AccountRegistry, sessionOf } from '../accounts/registry.ts';
import type { AccountSession } from '../accounts/session.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import type { Config } from '../config/options.ts';
import { dialPolicyOf } from '../config/values.ts';
import {
  createEndpointGroupController,
  type EndpointGroupController,
} from '../controllers/endpoint-group/controller.ts';
import type { GroupIdentities } from '../controllers/endpoint-group/identity/identities.ts';
import { GatewayIntake } from '../controllers/endpoint-group/load/gateway-intake.ts';
import type { Prometheus } from '../controllers/endpoint-group/load/prometheus.ts';
import { PushIntake } from '../controllers/endpoint-group/load/push.ts';
import { LoadSources } from '../controllers/endpoint-group/load/sources.ts';
import { LoadStore } from '../controllers/endpoint-group/load/state.ts';
import { timesAt } from '../controllers/endpoint-group/times.ts';
import { OWNED_BY_GROUP } from '../controllers/endpoint-group/workers/worker.ts';
import { MachineIndex, type SteadyClock } from '../controllers/gpu-instance/memory.ts';
import { BY_MACHINE } from '../controllers/gpu-instance/observe.ts';
import { TemplateOutlook } from '../controllers/gpu-instance/template-outlook.ts';
import { accountRefOf } from '../instance/account-ref.ts';
import type { Env } from '../lib/env.ts';
import { type Transport, TransportError } from '../lib/transport.ts';
import type { PurchaseConstants } from '../ownership/constants.ts';
import { tokenOfWorker } from '../ownership/worker-token.ts';
import type { EventRecorder } from '../runtime/events.ts';
import type { KubeClient } from '../runtime/kube/kube-client.ts';
import { isControlledBy } from '../runtime/kube/kube-object.ts';
import type { ControllerMetrics, QueueMetrics } from '../runtime/metrics-ports.ts';
import { ownerKeysOf } from '../runtime/owned-objects.ts';
import type { Caches } from './caches.ts';

export interface EndpointGroupWiring {
  readonly config: Config;
  readonly env: Env;
  readonly kube: KubeClient;
  readonly caches: Caches;
  readonly events: EventRecorder;
  readonly metrics: ControllerMetrics & QueueMetrics;
  readonly registry: AccountRegistry;
  readonly budgets: Pick<NamespaceBudgets, 'stop'>;
  readonly installation: Installation;
  readonly constants: PurchaseConstants;
  /** Clock of the controller of GpuInstances: it dates the lists. */
  readonly steady: SteadyClock;
  /** Transport to workers; without one, their load is not read. */
  readonly workerTransport?: Transport;
  /** Transport to Prometheus; without one, it is not queried. */
  readonly prometheusTransport?: Transport;
  readonly isLeading: () => boolean;
  readonly identities: GroupIdentities;
}

/** The controller of groups, and the receivers of reports from workers and pickers. */
export interface EndpointGroups {
  readonly controller: EndpointGroupController;
  readonly intake: PushIntake;
  readonly gatewayIntake: GatewayIntake;
}

/** Creates the controller of groups. It uses accounts only to read the breaker and to report a host failure. */
export function createEndpointGroups(wiring: EndpointGroupWiring): EndpointGroups {
  const { config, env, caches, registry } = wiring;
  const { clock, random, log } = env;
  const load = new LoadStore();
  const times = timesAt(config.scalingSpeed);
  const { allowPrivateAddresses } = config;
  const tokenOf = (worker: GpuInstance) => tokenOfWorker(wiring.installation.identity()?.keys, worker);
  const shared = { clock, loadStore: load, times, tokenOf };
  const readers = new LoadSources({
    ...shared,
    addresses: dialPolicyOf(config),
    transport: wiring.workerTransport ?? unreachable,
    callerOf: (worker) => wiring.identities.callerOf(worker),
    prometheus: prometheusOf(wiring),
    takesReports: config.workerReportBindAddress.type === 'on',
    takesGatewayReports: config.gatewayReports !== 'off',
  });
  const controller = createEndpointGroupController({
    ...{ loadStore: load, readers, times, allowPrivateAddresses },
    identities: wiring.identities,
    gatewayUrl: config.gatewayUrl,
    env: { clock, random, log },
    cluster: wiring.kube,
    groups: caches.groups,
    instances: caches.instances,
    events: wiring.events,
    isLeading: wiring.isLeading,
    isFrozen: (worker) => isFrozen(sessionFor(registry, worker)),
    outlook: outlookOf(wiring),
    accountCapOf: ({ metadata, spec }) =>
      sessionFor(registry, { metadata, spec: spec.template.spec })?.limits.maxPricePerHour,
    marketOf: ({ metadata, spec }) =>
      sessionFor(registry, { metadata, spec: spec.template.spec })?.market.about,
    reportHostFailure: (worker, reason, waited) => reportHostFailure(registry, { worker, reason, waited }),
    workers: config.endpointGroupWorkers,
    metrics: wiring.metrics,
  });
  const intake = new PushIntake({
    ...shared,
    instancesById: (id) => caches.instances.byIndex(BY_MACHINE, id),
    groupOf: (worker) =>
      ownerKeysOf(worker, OWNED_BY_GROUP)
        .flatMap((key) => caches.groups.get(key) ?? [])
        .find((group) => isControlledBy(worker, group)),
    isLeading: wiring.isLeading,
    onWake: (group) => controller.wake(group),
  });
  const gatewayIntake = new GatewayIntake({
    ...{ clock, loadStore: load, times },
    groupOf: (key) => caches.groups.get(key),
    isLeading: wiring.isLeading,
    onHeld: (group) => controller.wake(group),
  });
  return { controller, intake, gatewayIntake };
}

function outlookOf(wiring: EndpointGroupWiring): TemplateOutlook {
  const { env, kube, caches, registry, installation, constants, steady } = wiring;
  const { clock, random } = env;
  return new TemplateOutlook({
    ...{ clock, steady, random, constants, cluster: kube },
    instances: caches.instances,
    accounts: registry,
    budgets: wiring.budgets,
    identity: () => installation.identity(),
    leaseRemainingMs: () => Number.POSITIVE_INFINITY,
    index: new MachineIndex(constants),
    withoutStart: new Set(),
  });
}

function prometheusOf({ config, prometheusTransport }: EndpointGroupWiring): Prometheus | undefined {
  const { prometheusUrl: url, prometheusTenancy: tenancy } = config;
  return url === undefined ? undefined : { url, tenancy, transport: prometheusTransport ?? unreachable };
}

/** Returns the session, also of an account that may not be used: if its lists fail, its breaker is open. */
function sessionFor(
  registry: AccountRegistry,
  worker: Pick<GpuInstance, 'metadata' | 'spec'>,
): AccountSession | undefined {
  return sessionOf(registry.get(accountRefOf(worker)));
}

/** Returns true if no worker may be replaced: machines fail together, or no other machine may be rented. */
const isFrozen = (session: AccountSession | undefined) =>
  session !== undefined && (session.observer.breaker.type !== 'closed' || session.admission.isSuspended);

interface HostFailure {
  readonly worker: GpuInstance;
  readonly reason: string;
  readonly waited: boolean;
}

/** Reports a failed host to the account, unless the namespace may not use the account or machines fail together. */
function reportHostFailure(registry: AccountRegistry, { worker, reason, waited }: HostFailure): void {
  const { hostId } = worker.status ?? {};
  const session = sessionFor(registry, worker);
  if (hostId === undefined || session?.permits(worker.metadata.namespace ?? '') !== true) return;
  if (session.observer.countsHostFailures)
    session.avoid.add({ type: 'host', id: hostId }, reason, reporterOf(worker, reason, waited));
}

const unreachable: Transport = () => Promise.reject(new TransportError('no network', { sent: false }));
