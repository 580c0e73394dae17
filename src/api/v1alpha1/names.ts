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

/** The kinds of the operator: a `Record` of them does not compile if it lacks one. */
export type OwnKind = 'MarketplaceAccount' | 'GpuInstance' | 'EndpointGroup' | 'SpendBudget';

/** Names that a CRD needs in addition to the descriptor. */
export interface KindNames extends ResourceDescriptor {
  readonly kind: OwnKind;
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

export const spendBudgetResource: KindNames = {
  group: GROUP,
  version: VERSION,
  plural: 'spendbudgets',
  singular: 'spendbudget',
  kind: 'SpendBudget',
  namespaced: true,
  shortNames: ['gpubudget'],
};

/** Finalizer of an object while a machine may bill for it, or while its intent is open. */
export const MACHINE_FINALIZER = `${GROUP}/machine` as const;
/** Finalizer of a MarketplaceAccount while its verified key is kept and its objects may need it. */
export const ACCOUNT_FINALIZER = `${GROUP}/account` as const;
/** Finalizer of an EndpointGroup while its workers exist. */
export const GROUP_FINALIZER = `${GROUP}/workers` as const;

const ANNOTATIONS = {
  requestedAt: {
    name: 'requested-at',
    meaning: 'Any kind: reconcile now. The value is echoed in `requestedAt` of `status.record`.',
  },
  replaceAt: {
    name: 'replace-at',
    meaning:
      'GpuInstance: a time (RFC 3339); the machine is replaced at or after it, once. An invalid time causes a Warning event.',
  },
  idleExtendUntil: {
    name: 'idle-extend-until',
    meaning:
      'GpuInstance: a time (RFC 3339) before which `spec.idle` ends nothing. A time after such an end starts the machine again, or rents another. An invalid time prevents the end, and causes a Warning event.',
  },
  cancelAt: {
    name: 'cancel-at',
    meaning:
      'GpuInstance with `spec.completion`: a time (RFC 3339) at which the run is cancelled: its machine is stopped, destroyed after `completion.stopGrace`, and nothing is rented again. An invalid time causes a Warning event.',
  },
  hold: {
    name: 'hold',
    meaning:
      'GpuInstance: never replace or destroy the machine, except when the object is deleted or a limit of the spec is reached. It stops the operator, not the fuse of the machine.',
  },
  closeBreaker: {
    name: 'close-breaker',
    meaning:
      'MarketplaceAccount: close the open breaker now, so that unhealthy machines are replaced one at a time; a new value closes it again.',
  },
  confirmOrphans: {
    name: 'confirm-orphans',
    meaning: 'MarketplaceAccount: the machines that `OrphansHeld` names may be destroyed, slowly.',
  },
  confirmRollback: {
    name: 'confirm-rollback',
    meaning: 'MarketplaceAccount: a person has checked the machines that `OrphansHeld` names.',
  },
  staticLoad: {
    name: 'static-load',
    meaning: 'EndpointGroup: load in units per second; overrides `spec.load.static.load`.',
  },
  wakeAt: { name: 'wake-at', meaning: 'EndpointGroup: start one worker now; a new value starts another.' },
  agentCall: {
    name: 'agent-call',
    meaning:
      'GpuInstance that `gpu-rent mcp` created: hash of the arguments of the call, so that a repeated call is recognized.',
  },
  agentMaxCost: {
    name: 'agent-max-cost',
    meaning:
      'GpuInstance that `gpu-rent mcp` created: its `maxCost` in dollars, which counts for the limits of the server until the object has ended.',
  },
  agentPending: {
    name: 'agent-pending',
    meaning:
      'GpuInstance that `gpu-rent mcp` created paused: the limits of the server are being counted. Removed when it may rent.',
  },
  rentalIntent: {
    name: 'rental-intent',
    meaning: 'GpuInstance: the write-ahead record of one rental. Written by the operator only.',
  },
  templateHash: {
    name: 'template-hash',
    meaning:
      'GpuInstance: hash of the template from which a worker was created. Written by the operator only.',
  },
  dropFirst: {
    name: 'drop-first',
    meaning: 'GpuInstance of a group: `true` makes it the first worker to be removed.',
  },
  desiredRole: {
    name: 'desired-role',
    meaning:
      'GpuInstance of a group: its desired role, `Hot`, `Cold` or `Gone`. Written by the operator only.',
  },
  link: {
    name: 'link',
    meaning:
      'GpuInstance of a group: `TLS` if its machine serves by mutual TLS. Written by the operator only.',
  },
  drainSince: {
    name: 'drain-since',
    meaning:
      'GpuInstance of a group: start of its drain, before it is stopped or destroyed. Written by the operator only.',
  },
  pricePerHour: {
    name: 'price-per-hour',
    meaning:
      'EndpointSlice of a worker behind a gateway: hourly price of its machine, in dollars. Written by the operator only.',
  },
  jobTry: {
    name: 'job-try',
    meaning:
      'GpuInstance of `gpu-rent job`: number of this try of its owner, from 0. Written by the relay only.',
  },
  jobReported: {
    name: 'job-reported',
    meaning:
      'GpuInstance of `gpu-rent job`: the Pod that has reported the result to its owner. Written by the relay only.',
  },
  wokenAt: {
    name: 'woken-at',
    meaning:
      'GpuInstance of a group: last time at which the group started it as a cold worker. Written by the operator only.',
  },
} as const;

type AnnotationKey = keyof typeof ANNOTATIONS;

/** Names of the annotations, with the group. */
export const annotations = Object.fromEntries(
  Object.entries(ANNOTATIONS).map(([key, { name }]) => [key, `${GROUP}/${name}`]),
) as { readonly [Key in AnnotationKey]: `${typeof GROUP}/${(typeof ANNOTATIONS)[Key]['name']}` };

/** Meaning of each annotation by its name, for people, in the order of the reference. */
export const annotationMeanings: Readonly<Record<string, string>> = Object.fromEntries(
  Object.values(ANNOTATIONS).map(({ name, meaning }) => [`${GROUP}/${name}`, meaning]),
);

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
  /** On GpuInstances of `gpu-rent job`: uid of the Job or Pod, and the index of an indexed Job. */
  jobRun: `${GROUP}/job-run`,
  /** On objects of an operator's installation: the namespace of the operator. Set by the chart and `deploy/`. */
  operatorNamespace: `${GROUP}/operator-namespace`,
  /** Standard labels of EndpointSlices. */
  serviceName: 'kubernetes.io/service-name',
  sliceManagedBy: 'endpointslice.kubernetes.io/managed-by',
} as const;

/** Label of objects that `gpu-rent mcp` created; its value is the name of the agent (`--agent`). */
export const AGENT_LABEL = `${GROUP}/agent` as const;

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

/** Name of the ConfigMap in the operator's namespace with the costs of the months before the last twelve. */
export const LEDGER_PAST = 'gpurental-ledger-past';

/**
 * Names of the ConfigMaps with the costs of one month each, from January on. November of this year takes the place of
 * November of last year, so that a role can name all of them.
 */
export const LEDGER_MONTHS = Array.from(
  { length: 12 },
  (_, index) => `gpurental-ledger-${String(index + 1).padStart(2, '0')}`,
);

/** Field managers, one for each concern, so that server-side apply never conflicts with itself. */
export const fieldManagers = {
  status: `${OPERATOR_NAME}/status`,
  children: `${OPERATOR_NAME}/children`,
  finalizer: `${OPERATOR_NAME}/finalizer`,
} as const;

/** Prefix of the operator's own environment variables; the CRD refuses them in `spec.env`. */
export const RESERVED_ENV_PREFIX = 'GPURENTAL_';
/** Header with the random token that a worker and the operator show each other. */
export const WORKER_TOKEN_ENV = `${RESERVED_ENV_PREFIX}WORKER_TOKEN` as const;
/** Text by which a machine recognizes the operator's reply to a request to renew its lease. */
export const LEASE_PROOF_ENV = `${RESERVED_ENV_PREFIX}LEASE_PROOF` as const;

/** Nonce of the rental of a run, in the environment of its machine. */
export const RUN_ENV = `${RESERVED_ENV_PREFIX}RUN` as const;
/** Number of machines that the run had before this one. */
export const REPLACEMENT_ENV = `${RESERVED_ENV_PREFIX}REPLACEMENT` as const;
/** Folder for checkpoints of a run; `env` may set another one. */
export const CHECKPOINT_ENV = { name: 'CHECKPOINT_DIR', value: '/workspace/checkpoints' } as const;

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

/** The type of Secrets with the log of a run. */
export const LOG_SECRET_TYPE = `${GROUP}/log` as const;
/** Key of the log in such a Secret: text, packed by gzip. */
export const LOG_KEY = 'log';

/** Returns the name of the Secret with the log of a run. */
export function logSecretName(instanceName: string): string {
  return `${instanceName}-log`;
}

/** Returns the name of an instance's connection Secret. */
export function connectionSecretName(instanceName: string): string {
  return `${instanceName}-connection`;
}
