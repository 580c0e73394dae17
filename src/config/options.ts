import * as z from 'zod';
import {
  addressMapping,
  bindAddress,
  booleanValue,
  dollarsValue,
  durationValue,
  httpUrl,
  labelName,
  machineUrl,
  marketplaceUrl,
  namespaceValue,
  prometheusTenancy,
  wholeNumber,
} from './values.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A setting: its syntax, meaning and default. */
export interface OptionSpec {
  readonly value: z.ZodType<unknown, string>;
  /** Placeholder that the help shows after the flag. */
  readonly placeholder: string;
  readonly description: string;
  /** Default, in the text that a user would write. Absent: the setting is optional. */
  readonly defaultValue?: string | readonly string[];
  readonly list?: boolean;
}

/**
 * All settings of the operator: flag, environment variable, help and validation derive from them. The flag is the key
 * in kebab case, the variable is `GPU_RENTAL_` and the key in upper case.
 */
export const OPTIONS = {
  kubeconfig: {
    value: z.string().min(1, 'write the path of a kubeconfig'),
    placeholder: 'file',
    description: 'kubeconfig to use outside a cluster; inside one the service account is used',
  },
  context: {
    value: z.string().min(1, 'write the name of a context of the kubeconfig'),
    placeholder: 'name',
    description: 'context of the kubeconfig; its current one if absent',
  },
  namespace: {
    value: namespaceValue,
    placeholder: 'name',
    description: 'namespace of the operator itself: identity, kept keys and the lease live there',
    defaultValue: 'gpu-rental-system',
  },
  watchNamespace: {
    value: namespaceValue,
    placeholder: 'name',
    description: 'namespace to watch, repeatable; every namespace if absent',
    defaultValue: [],
    list: true,
  },
  marketplaceUrl: {
    value: marketplaceUrl,
    placeholder: 'url',
    description: 'marketplace that accounts may name, repeatable; the first is the default',
    defaultValue: ['https://console.vast.ai'],
    list: true,
  },
  allowPrivateAddresses: {
    value: booleanValue,
    placeholder: 'true|false',
    description: 'allow marketplaces, and machines that they name, on private addresses',
    defaultValue: 'false',
  },
  addressMap: {
    value: addressMapping,
    placeholder: 'network/prefix=address',
    description: 'where probes and load readers dial for addresses of simulated machines, repeatable',
    defaultValue: [],
    list: true,
  },
  lateCall: {
    value: durationValue(0, HOUR),
    placeholder: 'duration',
    description: 'how long after its deadline a rental request may still be carried out by the marketplace',
    defaultValue: '120s',
  },
  listLag: {
    value: durationValue(0, HOUR),
    placeholder: 'duration',
    description: "how long a change may be missing from the marketplace's list of instances",
    defaultValue: '60s',
  },
  goneSpacing: {
    value: durationValue(0, HOUR),
    placeholder: 'duration',
    description: 'minimum time between the two lists that confirm a destroyed machine is gone',
    defaultValue: '10s',
  },
  orphanAge: {
    value: durationValue(0, 24 * HOUR),
    placeholder: 'duration',
    description: 'age from which a machine that no object claims counts as an orphan',
    defaultValue: '60s',
  },
  lateOrphanAge: {
    value: durationValue(0, 7 * 24 * HOUR),
    placeholder: 'duration',
    description:
      'age from which a machine without an object that started after the time of its label (a late rental) counts as an orphan',
    defaultValue: '1h',
  },
  minPollInterval: {
    value: durationValue(SECOND / 10, HOUR),
    placeholder: 'duration',
    description: "floor of every account's pollInterval",
    defaultValue: '5s',
  },
  keyCheckInterval: {
    value: durationValue(SECOND / 10, HOUR),
    placeholder: 'duration',
    description: "how often an account's key Secret is read again",
    defaultValue: '60s',
  },
  maxRentalsPerHour: {
    value: wholeNumber(1, 100_000),
    placeholder: 'number',
    description: 'spend limit: rentals of one account within an hour, successful ones too',
    defaultValue: '600',
  },
  maxLiveMachines: {
    value: wholeNumber(1, 100_000),
    placeholder: 'number',
    description: 'spend limit: machines of one account at a time, if the account sets no lower limit',
    defaultValue: '250',
  },
  maxDollarsPerHour: {
    value: dollarsValue,
    placeholder: 'dollars',
    description: 'spend limit: sum of the hourly prices of one account, if it sets no lower limit',
    defaultValue: '250',
  },
  ledgerLabels: {
    value: labelName,
    placeholder: 'label',
    description:
      'label of a GpuInstance that the ledger of costs keeps, repeatable, 4 at most; gpu-rent cost groups by it',
    defaultValue: ['team'],
    list: true,
  },
  ledgerMonths: {
    value: wholeNumber(1, 60),
    placeholder: 'number',
    description: 'months that the ledger of costs keeps, the present one included',
    defaultValue: '13',
  },
  pacing: {
    value: z.enum(['documented', 'off'], { error: 'write documented or off' }),
    placeholder: 'documented|off',
    description: 'pauses between marketplace requests as the service documents them; off is for a simulator',
    defaultValue: 'documented',
  },
  leaderElect: {
    value: booleanValue,
    placeholder: 'true|false',
    description: 'let replicas elect one that acts',
    defaultValue: 'true',
  },
  leaderElectLeaseDuration: {
    value: durationValue(SECOND, HOUR),
    placeholder: 'duration',
    description: 'how long other replicas wait for a leader that went silent',
    defaultValue: '15s',
  },
  leaderElectRenewDeadline: {
    value: durationValue(SECOND / 2, HOUR),
    placeholder: 'duration',
    description: 'how long the leader tries to renew before it gives up; below the lease duration',
    defaultValue: '10s',
  },
  leaderElectRetryPeriod: {
    value: durationValue(SECOND / 10, HOUR),
    placeholder: 'duration',
    description: 'pause between two attempts to take or renew the lease; below the renew deadline',
    defaultValue: '2s',
  },
  metricsBindAddress: {
    value: bindAddress,
    placeholder: 'address',
    description: 'address of /metrics, or 0 for none',
    defaultValue: ':8080',
  },
  metricsAuthentication: {
    value: z.enum(['none', 'kubernetes'], { error: 'write none or kubernetes' }),
    placeholder: 'none|kubernetes',
    description:
      'who may read /metrics: everyone who reaches it, or only callers with a bearer token of a Kubernetes user who may get the non-resource URL /metrics (TokenReview and SubjectAccessReview)',
    defaultValue: 'none',
  },
  healthProbeBindAddress: {
    value: bindAddress,
    placeholder: 'address',
    description: 'address of /healthz and /readyz, or 0 for none',
    defaultValue: ':8081',
  },
  logLevel: {
    value: z.enum(['debug', 'info', 'warn', 'error'], { error: 'write debug, info, warn or error' }),
    placeholder: 'level',
    description: 'least level of log lines',
    defaultValue: 'info',
  },
  gpuInstanceWorkers: {
    value: wholeNumber(1, 1024),
    placeholder: 'number',
    description: 'GpuInstances reconciled at a time; those that wait for the marketplace are not counted',
    defaultValue: '32',
  },
  marketplaceAccountWorkers: {
    value: wholeNumber(1, 256),
    placeholder: 'number',
    description: 'MarketplaceAccounts reconciled at a time',
    defaultValue: '4',
  },
  endpointGroupWorkers: {
    value: wholeNumber(1, 256),
    placeholder: 'number',
    description: 'EndpointGroups reconciled at a time',
    defaultValue: '8',
  },
  workerReportBindAddress: {
    value: bindAddress,
    placeholder: 'address',
    description: 'address at which workers report their load (load.type: Push), or 0 for none',
    defaultValue: '0',
  },
  workerReportUrl: {
    value: machineUrl,
    placeholder: 'url',
    description:
      'https address of --worker-report-bind-address as rented machines reach it; they verify its certificate with the authorities of their image, and renew their leases there (lease.by: Report)',
  },
  logBindAddress: {
    value: bindAddress,
    placeholder: 'address',
    description:
      'address of /log/NAMESPACE/NAME, the logs of machines, over TLS with --log-tls-directory, or 0 for none; a caller needs a bearer token of a Kubernetes user who may get gpuinstances/log in that namespace (TokenReview and SubjectAccessReview)',
    defaultValue: '0',
  },
  logTlsDirectory: {
    value: z.string().min(1, 'write the path of a folder'),
    placeholder: 'folder',
    description:
      'folder with tls.crt and tls.key, as of a Secret of type kubernetes.io/tls, for --log-bind-address; read again every minute',
  },
  gatewayReports: {
    value: z.enum(['off', 'kubernetes', 'unauthenticated'], {
      error: 'write off, kubernetes or unauthenticated',
    }),
    placeholder: 'off|kubernetes|unauthenticated',
    description:
      'who may POST /gateway/reports at the address of /metrics, as gpu-rent endpoint-picker does (load.type: Gateway): no one, only callers with a bearer token of a Kubernetes user who may post that non-resource URL (TokenReview and SubjectAccessReview), or everyone who reaches it',
    defaultValue: 'off',
  },
  gatewayUrl: {
    value: httpUrl,
    placeholder: 'url',
    description:
      'address of the gateway that clients use, shown in status.gateway.url of EndpointGroups; not shown if absent',
  },
  prometheusUrl: {
    value: httpUrl,
    placeholder: 'url',
    description: 'Prometheus that queries of EndpointGroups are sent to (load.type: Prometheus)',
  },
  prometheusTenancy: {
    value: prometheusTenancy,
    placeholder: 'off|parameter=NAME|unrestricted',
    description:
      'what queries of EndpointGroups may read: off sends none; parameter=namespace sends the namespace of the group in that query parameter to a prom-label-proxy, which has to refuse queries without it; unrestricted lets every author of a group read every series',
    defaultValue: 'off',
  },
  prometheusCa: {
    value: z.string().min(1, 'write the path of a PEM file'),
    placeholder: 'file',
    description:
      'PEM of the authorities that an https Prometheus is verified against, read at the start; those that Node knows, with NODE_EXTRA_CA_CERTS, if absent',
  },
  scalingSpeed: {
    value: wholeNumber(1, 1000),
    placeholder: 'number',
    description:
      'how many times as fast the spans of scaling run (tick 10s, windows 60s, 300s and 1h, inactivityTimeout); above 1 is for a simulator',
    defaultValue: '1',
  },
  kubeConnections: {
    value: wholeNumber(1, 1024),
    placeholder: 'number',
    description:
      'maximum connections to the API server, each of which uses memory; raised automatically if the watches of many namespaces would leave too few',
    defaultValue: '24',
  },
  shutdownGrace: {
    value: durationValue(0, HOUR),
    placeholder: 'duration',
    description: 'how long actions in progress may take after SIGTERM',
    defaultValue: '25s',
  },
} satisfies Record<string, OptionSpec>;

export type OptionName = keyof typeof OPTIONS;

type Parsed<Spec extends OptionSpec> = Spec extends { readonly list: true }
  ? readonly z.output<Spec['value']>[]
  : Spec extends { readonly defaultValue: string }
    ? z.output<Spec['value']>
    : z.output<Spec['value']> | undefined;

/** Settings by name, with the types of their schemas. */
export type ParsedOptions<Specs extends Readonly<Record<string, OptionSpec>>> = {
  readonly [Name in keyof Specs]: Parsed<Specs[Name]>;
};

/** The validated settings of the operator. Durations are milliseconds, money is micro-dollars. */
export type Config = ParsedOptions<typeof OPTIONS>;
