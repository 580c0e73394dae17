import { GATEWAY_REPORTS_PATH } from './gateway-report.ts';
import {
  endpointGroupResource,
  GROUP,
  gpuInstanceResource,
  IN_USE_RECORD,
  LEDGER_MONTHS,
  LEDGER_PAST,
  marketplaceAccountResource,
  spendBudgetResource,
} from './v1alpha1/names.ts';

/** A permission that the operator needs from Kubernetes, with the reason for a reviewer. */
export interface Grant {
  readonly group: string;
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** Names of the only objects that it covers. */
  readonly names?: readonly string[];
  readonly why: string;
}

const instances = gpuInstanceResource.plural;
const accounts = marketplaceAccountResource.plural;
const groups = endpointGroupResource.plural;
const budgets = spendBudgetResource.plural;
const kinds = [accounts, instances, groups] as const;

/** For every watched namespace: a ClusterRole, or one Role per namespace. */
export const watchedGrants: readonly Grant[] = [
  {
    group: GROUP,
    resources: kinds,
    verbs: ['get', 'list', 'watch', 'patch'],
    why: 'Watch GpuInstances, EndpointGroups and MarketplaceAccounts, read an object again after a conflict or before its machine is destroyed, and write finalizers and rental intents.',
  },
  {
    group: GROUP,
    resources: [budgets],
    verbs: ['get', 'list', 'watch'],
    why: 'Watch SpendBudgets. The operator writes only their status.',
  },
  {
    group: GROUP,
    resources: [instances],
    verbs: ['create', 'delete'],
    why: 'Create and delete the workers of an EndpointGroup, which are GpuInstances.',
  },
  {
    group: GROUP,
    resources: [...kinds, budgets].map((kind) => `${kind}/status`),
    verbs: ['update'],
    why: 'Write status.',
  },
  {
    group: GROUP,
    resources: [instances, groups].map((kind) => `${kind}/finalizers`),
    verbs: ['update'],
    why: 'Set blockOwnerDeletion on owned objects, which some clusters check.',
  },
  {
    group: '',
    resources: ['secrets'],
    verbs: ['get', 'create', 'patch', 'delete'],
    why: 'Read the Secrets that objects name, and write connection Secrets and the logs of runs. The operator never lists or watches Secrets.',
  },
  {
    group: '',
    resources: ['services'],
    verbs: ['get', 'list', 'create', 'patch', 'delete'],
    why: 'Publish rented machines inside the cluster, and find Services whose object was deleted by force.',
  },
  {
    group: 'discovery.k8s.io',
    resources: ['endpointslices'],
    verbs: ['get', 'list', 'create', 'patch', 'delete'],
    why: 'Publish the addresses of rented machines, and find EndpointSlices whose object was deleted by force.',
  },
  {
    group: '',
    resources: ['configmaps'],
    verbs: ['get', 'create', 'patch', 'delete'],
    why: 'Publish the ready workers of groups with spec.gateway.publish for another router. The operator never lists or watches ConfigMaps.',
  },
  {
    group: 'events.k8s.io',
    resources: ['events'],
    verbs: ['create', 'patch'],
    why: 'Emit events, for example about every paid action.',
  },
];

/** Cluster-wide only; in namespaced mode the operator works without it. */
export const clusterGrants: readonly Grant[] = [
  {
    group: '',
    resources: ['namespaces'],
    verbs: ['get'],
    why: 'Identify the cluster by the uid of kube-system, and read namespace labels for allowedNamespaces.',
  },
];

/**
 * For the whole cluster, with `--metrics-authentication kubernetes`, `--gateway-reports kubernetes` or
 * `--log-bind-address` only: reviews have no namespace.
 */
export const metricsGrants: readonly Grant[] = [
  {
    group: 'authentication.k8s.io',
    resources: ['tokenreviews'],
    verbs: ['create'],
    why: 'Check the token of a metrics reader, a reporting picker or a reader of logs.',
  },
  {
    group: 'authorization.k8s.io',
    resources: ['subjectaccessreviews'],
    verbs: ['create'],
    why: 'Check that this user may read metrics or logs, or report.',
  },
];

/** Permission of a reader of the metrics in that case. */
export const METRICS_READER = { nonResourceURLs: ['/metrics'], verbs: ['get'] } as const;

/** Permission of a reader of logs, in a namespace or for the whole cluster. */
export const LOG_READER = {
  apiGroups: [GROUP],
  resources: [instances, `${instances}/log`],
  verbs: ['get'],
} as const;

/**
 * Permissions of `gpu-rent endpoint-picker` in every served namespace, in addition to `get` on Secrets by name.
 */
export const pickerGrants: readonly Grant[] = [
  {
    group: GROUP,
    resources: [groups],
    verbs: ['list', 'watch', 'patch'],
    why: 'Watch EndpointGroups with a gateway, and wake them by an annotation.',
  },
  {
    group: 'discovery.k8s.io',
    resources: ['endpointslices'],
    verbs: ['list', 'watch'],
    why: 'Watch the addresses and readiness of workers.',
  },
];

/** Permission of `gpu-rent endpoint-picker` to report. */
export const GATEWAY_REPORTER = { nonResourceURLs: [GATEWAY_REPORTS_PATH], verbs: ['post'] } as const;

/**
 * Permissions of a Pod with `gpu-rent job` in its own namespace. Every user who can create such Pods can rent
 * machines, within the limits of accounts and budgets.
 */
export const relayGrants: readonly Grant[] = [
  {
    group: GROUP,
    resources: [instances],
    verbs: ['create', 'get', 'list', 'watch', 'patch', 'delete'],
    why: 'Create the GpuInstance of a Job or attach to it, follow it, cancel it, and delete a failed one before the next try.',
  },
  {
    group: GROUP,
    resources: [`${instances}/log`],
    verbs: ['get'],
    why: 'Read the log of its machine from the operator.',
  },
  {
    group: 'batch',
    resources: ['jobs'],
    verbs: ['get'],
    why: 'Make the Job the owner of the GpuInstance, and see after SIGTERM if the Job continues.',
  },
  {
    group: '',
    resources: ['pods'],
    verbs: ['get'],
    why: 'Find the Job of its own Pod.',
  },
];

/** Permissions in the operator's own namespace. */
export const ownGrants: readonly Grant[] = [
  {
    group: 'coordination.k8s.io',
    resources: ['leases'],
    verbs: ['create'],
    why: 'Create the Lease of leader election. RBAC cannot limit a create to a name.',
  },
  {
    group: 'coordination.k8s.io',
    resources: ['leases'],
    names: ['gpu-rental-operator'],
    verbs: ['get', 'update', 'watch'],
    why: 'Acquire, renew and release the Lease, and watch for its release.',
  },
  {
    group: '',
    resources: ['secrets'],
    verbs: ['get', 'create', 'patch', 'delete'],
    why: 'Store the identity of this installation and hashes of verified API keys.',
  },
  {
    group: '',
    resources: ['configmaps'],
    verbs: ['create'],
    why: 'Create the in-use record and the cost ledger. RBAC cannot limit a create to a name.',
  },
  {
    group: '',
    resources: ['configmaps'],
    names: [IN_USE_RECORD],
    verbs: ['get', 'patch'],
    why: 'Update the in-use record, by which admission refuses to uninstall while machines are rented.',
  },
  {
    group: '',
    resources: ['configmaps'],
    names: [...LEDGER_MONTHS, LEDGER_PAST],
    verbs: ['get', 'patch'],
    why: 'Update the cost ledger: one ConfigMap for each month of the year, and one for earlier months.',
  },
  {
    group: 'events.k8s.io',
    resources: ['events'],
    verbs: ['create', 'patch'],
    why: 'Emit events about the leader.',
  },
];
