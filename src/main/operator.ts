import { InUseRecord } from '../accounts/installation/in-use.ts';
import type { Installation } from '../accounts/installation/installation.ts';
import type { LedgerKeeper } from '../accounts/ledger-keeper.ts';
import { MachineLogs } from '../accounts/machine-logs.ts';
import type { AccountRegistry } from '../accounts/registry.ts';
import { OPERATOR_NAME } from '../api/v1alpha1/names.ts';
import { GroupIdentities } from '../controllers/endpoint-group/identity/identities.ts';
import type { GatewayIntake } from '../controllers/endpoint-group/load/gateway-intake.ts';
import type { PushIntake } from '../controllers/endpoint-group/load/push.ts';
import { LeaseReports } from '../controllers/gpu-instance/lease-reports.ts';
import { BY_MACHINE } from '../controllers/gpu-instance/observe.ts';
import { withDeadline } from '../lib/deadline.ts';
import type { Env } from '../lib/env.ts';
import type { Controller } from '../runtime/controller.ts';
import type { EventRecorder } from '../runtime/events.ts';
import { type KubeClient, retryReads } from '../runtime/kube/kube-client.ts';
import { createKubeRequester } from '../runtime/kube/kube-request.ts';
import type { LeaderElection } from '../runtime/lease/leader-election.ts';
import { createManager, type LeaderTask, type Manager } from '../runtime/manager.ts';
import type { Caches } from './caches.ts';
import { controllersTask, createControllers, isLeading } from './controllers.ts';
import { OPENAPI_PATH, requireRecordField } from './definitions-check.ts';
import { createEndpointGroups } from './endpoint-groups.ts';
import { type OperatorOptions, type Wiring, wire } from './wiring.ts';

export type { OperatorOptions } from './wiring.ts';

/** The wired operator: its tasks, and the sources of health pages and metrics. */
export interface Operator {
  readonly manager: Manager;
  readonly kube: KubeClient;
  readonly caches: Caches;
  readonly registry: AccountRegistry;
  readonly installation: Installation;
  readonly ledger: LedgerKeeper;
  readonly election: LeaderElection | undefined;
  readonly controllers: readonly Controller[];
  /** Receives reports of workers that push their load. */
  readonly intake: PushIntake;
  /** Renews the leases of machines that request it. */
  readonly leaseReports: LeaseReports;
  /** Receives the reports of the gateways' pickers. */
  readonly gatewayIntake: GatewayIntake;
  /** The logs of machines, for followers. */
  readonly logs: Pick<MachineLogs, 'open'>;
}

/** Wires the operator. Nothing runs before `manager.run()`. */
export function createOperator(options: OperatorOptions): Operator {
  const wiring = wire(options);
  const identities = new GroupIdentities({ cluster: wiring.kube, clock: options.env.clock });
  const groups = createEndpointGroups({ ...wiring, identities, isLeading: () => isLeading(wiring) });
  const { kube, caches, registry, installation, ledger, election } = wiring;
  const logs = new MachineLogs({
    clock: options.env.clock,
    instanceOf: (key) => caches.instances.get(key),
    accounts: registry,
    isLeading: () => isLeading(wiring),
  });
  const leaseReports = new LeaseReports({
    clock: options.env.clock,
    instancesById: (id) => caches.instances.byIndex(BY_MACHINE, id),
    identity: () => installation.identity(),
    isLeading: () => isLeading(wiring),
    reportUrl: wiring.config.workerReportUrl,
  });
  const controllers = [...createControllers(wiring, { identities, logs, leaseReports }), groups.controller];
  const manager = createManager({
    sources: Object.values(caches),
    tasks: tasksOf(wiring, controllers),
    election,
    clock: options.env.clock,
    log: options.env.log,
  });
  const { intake, gatewayIntake } = groups;
  const hearing = { intake, gatewayIntake, logs, leaseReports };
  return { manager, kube, caches, registry, installation, ledger, election, controllers, ...hearing };
}

/**
 * Returns the tasks in the order of their start. They stop in reverse, so that events and connections outlive the last
 * action.
 */
function tasksOf(wiring: Wiring, controllers: readonly Controller[]): readonly LeaderTask[] {
  const { events, connections, installation, env, metrics, config } = wiring;
  return [
    ...(wiring.checksDefinitions ? [definitionsCheck(wiring)] : []),
    { name: 'events', start: () => {}, stop: () => flushed(events, env) },
    { name: 'marketplace connections', start: () => {}, stop: () => connections.closeAll() },
    { name: 'identity', start: () => resolveIdentity(installation, env), stop: () => {} },
    inUseRecord(wiring),
    wiring.ledger,
    controllersTask(controllers, { metrics, graceMs: config.shutdownGrace }),
  ];
}

function definitionsCheck(wiring: Wiring): LeaderTask {
  const { env, kubeOrigin: origin, credentials, metrics } = wiring;
  const { clock, log, kube: transport } = env;
  const shared = { transport, origin, credentials, clock, log, metrics };
  const requester = createKubeRequester({
    ...shared,
    userAgent: OPERATOR_NAME,
    deadlineMs: OPENAPI_DEADLINE_MS,
  });
  const read = () => retryReads(env, () => requester.json({ method: 'GET', path: OPENAPI_PATH }));
  return { name: 'CRDs', start: () => requireRecordField({ read, clock, log }), stop: () => {} };
}

const OPENAPI_DEADLINE_MS = 30_000;
const FLUSH_MS = 5_000;

/** Flushes the events within a short time, without using the grace period of the Pod. */
function flushed(events: EventRecorder, { clock }: Env): Promise<void> {
  return withDeadline({ clock, limitMs: FLUSH_MS }, () => events.flush());
}

function inUseRecord({ config, env, kube, caches, constants }: Wiring): LeaderTask {
  const { clock, log } = env;
  const { namespace } = config;
  return new InUseRecord({ client: kube, namespace, instances: caches.instances, constants, clock, log });
}

/** Resolves the identity. If that is not possible yet, the account controller retries at each reconcile. */
async function resolveIdentity(installation: Installation, { log }: Env): Promise<void> {
  try {
    const state = await installation.resolve();
    if (state.type !== 'known') log.warn('identity is not known', state.why);
  } catch (error) {
    log.warn('identity could not be read', { error });
  }
}
