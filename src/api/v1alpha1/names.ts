/** The API group of all objects of this operator. */
export const GROUP = 'gpurental.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}` as const;
/** Advice if CRDs are missing. */
export const INSTALL_DEFINITIONS =
  'Install the CRDs: helm upgrade --install, or kubectl apply --server-side -f crds/.';
/** Category: `kubectl get gpurental` lists all kinds of the operator. */
export const CATEGORY = 'gpurental';

/** Path of a kind at the API server, in the structure that the Kubernetes client accepts. */
export interface ResourceDescriptor {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** Names that a CRD needs beside the descriptor. */
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

/** Finalizer of an object while a machine may bill for it, or while its intent is open. */
export const MACHINE_FINALIZER = `${GROUP}/machine` as const;
/** Finalizer of a MarketplaceAccount while its verified key is kept and its objects may need it. */
export const ACCOUNT_FINALIZER = `${GROUP}/account` as const;
/** Finalizer of an EndpointGroup while its workers exist. */
export const GROUP_FINALIZER = `${GROUP}/workers` as const;

/** Annotations. Users write those above the line, only the operator those below. */
export const annotations = {
  /** Reconcile now; the status echoes the value in `status.requestedAt`. */
  requestedAt: `${GROUP}/requested-at`,
  /** A time (RFC 3339): replace the machine at or after it, once. An invalid time causes a Warning event. */
  replaceAt: `${GROUP}/replace-at`,
  /** Never replace or destroy the machine, except when the object is deleted. */
  hold: `${GROUP}/hold`,
  /**
   * On an account: close the open breaker now, so that machines are replaced one at a time; a new value closes it
   * again.
   */
  closeBreaker: `${GROUP}/close-breaker`,
  /** On an account: a person has looked at the machines named by `OrphansHeld`. */
  confirmRollback: `${GROUP}/confirm-rollback`,
  /** On an account: a person has looked at the machines named by `OrphansHeld`, and they may be destroyed. */
  confirmOrphans: `${GROUP}/confirm-orphans`,
  /** On an EndpointGroup: load in units per second, overrides `spec.load.static`. */
  staticLoad: `${GROUP}/static-load`,
  /** On an EndpointGroup: start one worker now; a new value starts another. */
  wakeAt: `${GROUP}/wake-at`,
  /** On a worker of a group: `true` makes it the first one to be removed. */
  dropFirst: `${GROUP}/drop-first`,
  /** The write-ahead record of one rental. Written by the operator only. */
  rentalIntent: `${GROUP}/rental-intent`,
  /** Hash of the template from which a worker was created. Written by the operator only. */
  templateHash: `${GROUP}/template-hash`,
  /** On a worker of a group, `TLS`: its machine serves by mutual TLS. Written by the operator only. */
  link: `${GROUP}/link`,
  /** Desired role of a worker: `Hot`, `Cold` or `Gone`. Written by the operator only. */
  desiredRole: `${GROUP}/desired-role`,
  /** Start of a worker's drain, before it is stopped or destroyed. Written by the operator only. */
  drainSince: `${GROUP}/drain-since`,
  /** On the slice of a worker: hourly price of its machine, in dollars. Written by the operator only. */
  pricePerHour: `${GROUP}/price-per-hour`,
  /** Last time at which the group started a cold worker. Written by the operator only. */
  wokenAt: `${GROUP}/woken-at`,
} as const;

/** Labels that the operator sets on children. */
export const labels = {
  managedBy: 'app.kubernetes.io/managed-by',
  instance: `${GROUP}/instance`,
  /**
   * On a Service, slice or Secret: uid of the GpuInstance for which it was created, even without an owner reference.
   */
  instanceUid: `${GROUP}/instance-uid`,
  endpointGroup: `${GROUP}/endpoint-group`,
  /** On a slice of a worker that serves by mutual TLS: `TLS`. */
  link: `${GROUP}/link`,
  endpointName: `${GROUP}/endpoint-name`,
  account: `${GROUP}/account`,
  /** On objects of an operator's installation: the namespace of the operator. Set by the chart and `deploy/`. */
  operatorNamespace: `${GROUP}/operator-namespace`,
  /** Standard labels of EndpointSlices. */
  serviceName: 'kubernetes.io/service-name',
  sliceManagedBy: 'endpointslice.kubernetes.io/managed-by',
} as const;

/** The value of `managedBy` labels, the reporting controller of events and the stem of field managers. */
export const OPERATOR_NAME = 'gpu-rental-operator';
/** A qualified name, as `endpointslice.kubernetes.io/managed-by` and events require. */
export const CONTROLLER_NAME = `${GROUP}/operator` as const;

/**
 * The ConfigMap in the operator's namespace that records whether machines are rented; admission reads it. It also
 * contains the durations of the operator, by the names of its flags.
 */
export const IN_USE_RECORD = 'gpu-rental-in-use';
/** Key of that ConfigMap for admission: `"true"` or `"false"`. */
export const inUseKey = 'inUse';

/** A field manager per concern, so that server-side apply never conflicts with itself. */
export const fieldManagers = {
  status: `${OPERATOR_NAME}/status`,
  children: `${OPERATOR_NAME}/children`,
  finalizer: `${OPERATOR_NAME}/finalizer`,
} as const;

/** Prefix of the operator's own environment variables; the CRD refuses them in `spec.env`. */
export const RESERVED_ENV_PREFIX = 'GPURENTAL_';
/** Header with the random token that a worker and the operator show each other. */
export const WORKER_TOKEN_ENV = `${RESERVED_ENV_PREFIX}WORKER_TOKEN` as const;

/** The type of connection Secrets, in the form of the service binding specification. */
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

/** Returns the name of an instance's connection Secret. */
export function connectionSecretName(instanceName: string): string {
  return `${instanceName}-connection`;
}
