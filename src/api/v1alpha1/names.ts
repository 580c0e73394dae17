/** The API group of every object that people write for this operator. */
export const GROUP = 'gpurental.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}` as const;
/** What to do if CRDs are missing. */
export const INSTALL_DEFINITIONS =
  'Install the CRDs: helm upgrade --install, or kubectl apply --server-side -f crds/.';
/** `kubectl get gpurental` lists all our kinds. */
export const CATEGORY = 'gpurental';

/** Where a kind is served. Structurally the descriptor that the Kubernetes client takes. */
export interface ResourceDescriptor {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** What a custom resource definition needs to know beside the descriptor. */
export interface KindNames extends ResourceDescriptor {
  readonly singular: string;
  readonly shortNames: readonly string[];
}

export const marketplaceAccountResource: KindNames = {
  group: GROUP,
  version: VERSION,
  plural: 'marketplaceaccounts',
  singular: 'marketplaceaccount',
  kind: 'MarketplaceAccount',
  namespaced: true,
  shortNames: ['gpuacct'],
};

export const gpuInstanceResource: KindNames = {
  group: GROUP,
  version: VERSION,
  plural: 'gpuinstances',
  singular: 'gpuinstance',
  kind: 'GpuInstance',
  namespaced: true,
  shortNames: ['gpui'],
};

export const endpointGroupResource: KindNames = {
  group: GROUP,
  version: VERSION,
  plural: 'endpointgroups',
  singular: 'endpointgroup',
  kind: 'EndpointGroup',
  namespaced: true,
  shortNames: ['epg'],
};

/** Stands on an object while a machine may bill for it, or while its intent is open. */
export const MACHINE_FINALIZER = `${GROUP}/machine` as const;
/** Stands on a MarketplaceAccount while its proven key is kept and its objects may need it. */
export const ACCOUNT_FINALIZER = `${GROUP}/account` as const;
/** Stands on an EndpointGroup while workers of it exist. */
export const GROUP_FINALIZER = `${GROUP}/workers` as const;

/** Annotations. Those above the line are written by people, those below by the operator only. */
export const annotations = {
  /** Reconcile now; the value is echoed in `status.requestedAt`. */
  requestedAt: `${GROUP}/requested-at`,
  /** A time (RFC 3339): replace the machine at or after it, once. A Warning event says what is no time. */
  replaceAt: `${GROUP}/replace-at`,
  /** Never replace or destroy the machine, except when the object is deleted. */
  hold: `${GROUP}/hold`,
  /** On an account: close the open breaker now, so that machines are replaced one at a time; a new value closes it again. */
  closeBreaker: `${GROUP}/close-breaker`,
  /** On an account: a person has looked at the machines named by `OrphansHeld`. */
  confirmRollback: `${GROUP}/confirm-rollback`,
  /** On an account: a person has looked at the machines named by `OrphansHeld`, and they may be destroyed. */
  confirmOrphans: `${GROUP}/confirm-orphans`,
  /** On an EndpointGroup: load in units per second, overrides `spec.load.static`. */
  staticLoad: `${GROUP}/static-load`,
  /** On an EndpointGroup: wake one worker now; a new value wakes again. */
  wakeAt: `${GROUP}/wake-at`,
  /** On a worker of a group: `true` makes it the first to go when one has to. */
  dropFirst: `${GROUP}/drop-first`,
  /** The write-ahead record of one rental. Written by the operator only. */
  rentalIntent: `${GROUP}/rental-intent`,
  /** The hash of the template that a worker was made from. Written by the operator only. */
  templateHash: `${GROUP}/template-hash`,
  /** On a worker of a group, `TLS`: its machine serves by mutual TLS. Written by the operator only. */
  link: `${GROUP}/link`,
  /** What a group wants of a worker: `Hot`, `Cold` or `Gone`. Written by the operator only. */
  desiredRole: `${GROUP}/desired-role`,
  /** Since when a worker finishes its work before it is stopped or destroyed. Written by the operator only. */
  drainSince: `${GROUP}/drain-since`,
  /** On the slice of a worker: what its machine costs an hour, in dollars. Written by the operator only. */
  pricePerHour: `${GROUP}/price-per-hour`,
  /** When a cold worker was last asked to run. Written by the operator only. */
  wokenAt: `${GROUP}/woken-at`,
} as const;

/** Labels that the operator sets on children. */
export const labels = {
  managedBy: 'app.kubernetes.io/managed-by',
  instance: `${GROUP}/instance`,
  /** On a Service, slice or Secret: uid of the GpuInstance that it was made for, also when its owner reference is gone. */
  instanceUid: `${GROUP}/instance-uid`,
  endpointGroup: `${GROUP}/endpoint-group`,
  /** On a slice of a worker that serves by mutual TLS: `TLS`. */
  link: `${GROUP}/link`,
  endpointName: `${GROUP}/endpoint-name`,
  account: `${GROUP}/account`,
  /** On what an operator runs on and by: the namespace that it runs in. Set by the chart and `deploy/`. */
  operatorNamespace: `${GROUP}/operator-namespace`,
  /** Standard labels of EndpointSlices. */
  serviceName: 'kubernetes.io/service-name',
  sliceManagedBy: 'endpointslice.kubernetes.io/managed-by',
} as const;

/** The value of `managedBy` labels, the reporting controller of events and the stem of field managers. */
export const OPERATOR_NAME = 'gpu-rental-operator';
/** A qualified name, as `endpointslice.kubernetes.io/managed-by` and events want one. */
export const CONTROLLER_NAME = `${GROUP}/operator` as const;

/**
 * The ConfigMap of the operator's namespace that says whether machines are rented; admission reads it. It also holds the
 * times that the operator runs with, by the names of its flags.
 */
export const IN_USE_RECORD = 'gpu-rental-in-use';
/** Its key for admission: `"true"` or `"false"`. */
export const inUseKey = 'inUse';

/** One field manager per concern, so that server-side apply never fights itself. */
export const fieldManagers = {
  status: `${OPERATOR_NAME}/status`,
  children: `${OPERATOR_NAME}/children`,
  finalizer: `${OPERATOR_NAME}/finalizer`,
} as const;

/** Environment variables that begin so are the operator's own; the CRD refuses them in `spec.env`. */
export const RESERVED_ENV_PREFIX = 'GPURENTAL_';
/** Carries the random token that a worker must show to the operator and the operator to a worker. */
export const WORKER_TOKEN_ENV = `${RESERVED_ENV_PREFIX}WORKER_TOKEN` as const;

/** The type of connection Secrets, in the shape of the service binding specification. */
export const CONNECTION_SECRET_TYPE = 'servicebinding.io/gpu-instance';
/** Keys of a connection Secret. */
export const connectionKeys = {
  type: 'type',
  provider: 'provider',
  host: 'host',
  port: 'port',
  username: 'username',
  instanceId: 'instance-id',
  address: 'address',
  instanceApiKey: 'instance-api-key',
  workerToken: 'worker-token',
} as const;

/** The name of an instance's connection Secret. */
export function connectionSecretName(instanceName: string): string {
  return `${instanceName}-connection`;
}
