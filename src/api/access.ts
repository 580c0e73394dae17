import { GATEWAY_REPORTS_PATH } from './gateway-report.ts';
import {
  endpointGroupResource,
  GROUP,
  gpuInstanceResource,
  IN_USE_RECORD,
  marketplaceAccountResource,
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
const kinds = [accounts, instances, groups] as const;

/** For every watched namespace: a ClusterRole, or one Role per namespace. */
export const watchedGrants: readonly Grant[] = [
  {
    group: GROUP,
    resources: kinds,
    verbs: ['get', 'list', 'watch', 'patch'],
    why: 'Watch objects of the operator, read an object again after a conflict or before its machine is destroyed, and write finalizers and rental intents.',
  },
  {
    group: GROUP,
    resources: [instances],
    verbs: ['create', 'delete'],
    why: 'The workers of an EndpointGroup are GpuInstances.',
  },
  {
    group: GROUP,
    resources: kinds.map((kind) => `${kind}/status`),
    verbs: ['update'],
    why: 'Emit events.',
  },
  {
    group: GROUP,
    resources: [instances, groups].map((kind) => `${kind}/finalizers`),
    verbs: ['update'],
    why: 'Own children with blockOwnerDeletion where the cluster checks that right.',
  },
  {
    group: '',
    resources: ['secrets'],
    verbs: ['get', 'create', 'patch', 'delete'],
    why: 'Read the Secrets that objects name; keep connection Secrets. Never listed or watched.',
  },
  {
    group: '',
    resources: ['services'],
    verbs: ['get', 'list', 'create', 'patch', 'delete'],
    why: 'Publish rented machines inside the cluster, and find those whose object was deleted by force.',
  },
  {
    group: 'discovery.k8s.io',
    resources: ['endpointslices'],
    verbs: ['get', 'list', 'create', 'patch', 'delete'],
    why: 'Publish the addresses of rented machines, and find those whose object was deleted by force.',
  },
  {
    group: '',
    resources: ['configmaps'],
    verbs: ['get', 'create', 'patch', 'delete'],
    why: 'List the ready workers of groups with spec.gateway.publish for another router. Never listed or watched.',
  },
  {
    group: 'events.k8s.io',
    resources: ['events'],
    verbs: ['create', 'patch'],
    why: 'Tell what happened, paid actions above all.',
  },
];

/** Cluster-wide only; in namespaced mode the operator works without it. */
export const clusterGrants: readonly Grant[] = [
  {
    group: '',
    resources: ['namespaces'],
    verbs: ['get'],
    why: "Know the cluster by the uid of kube-system, and a namespace's labels for allowedNamespaces.",
  },
];

/**
 * For the whole cluster, with `--metrics-authentication kubernetes` or `--gateway-reports kubernetes` only: reviews
 * have no namespace.
 */
export const metricsGrants: readonly Grant[] = [
  {
    group: 'authentication.k8s.io',
    resources: ['tokenreviews'],
    verbs: ['create'],
    why: 'Review the token of a reader of the metrics, or of a reporting picker.',
  },
  {
    group: 'authorization.k8s.io',
    resources: ['subjectaccessreviews'],
    verbs: ['create'],
    why: 'Review if that user may read the metrics, or report.',
  },
];

/** Permission of a reader of the metrics in that case. */
export const METRICS_READER = { nonResourceURLs: ['/metrics'], verbs: ['get'] } as const;

/** Permissions of `gpu-rent endpoint-picker` in every served namespace, beside `get` on Secrets by name. */
export const pickerGrants: readonly Grant[] = [
  {
    group: GROUP,
    resources: [groups],
    verbs: ['list', 'watch', 'patch'],
    why: 'Watch the groups with a gateway, and wake them by an annotation.',
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

/** Permissions in the operator's own namespace. */
export const ownGrants: readonly Grant[] = [
  {
    group: 'coordination.k8s.io',
    resources: ['leases'],
    verbs: ['create'],
    why: 'Make the lease of leader election; a create cannot be limited to a name.',
  },
  {
    group: 'coordination.k8s.io',
    resources: ['leases'],
    names: ['gpu-rental-operator'],
    verbs: ['get', 'update', 'watch'],
    why: 'Hold and release the lease, and hear at once when it is free.',
  },
  {
    group: '',
    resources: ['secrets'],
    verbs: ['get', 'create', 'patch', 'delete'],
    why: 'Keep the identity of this installation and proven keys.',
  },
  {
    group: '',
    resources: ['configmaps'],
    verbs: ['create'],
    why: 'Make the record that machines are rented; a create cannot be limited to a name.',
  },
  {
    group: '',
    resources: ['configmaps'],
    names: [IN_USE_RECORD],
    verbs: ['get', 'patch'],
    why: 'Keep the record that machines are rented, by which admission refuses an uninstall.',
  },
  {
    group: 'events.k8s.io',
    resources: ['events'],
    verbs: ['create', 'patch'],
    why: 'Tell who leads.',
  },
];
