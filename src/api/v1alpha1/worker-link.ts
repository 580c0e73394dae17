import { annotations, endpointGroupResource, GROUP, RESERVED_ENV_PREFIX } from './names.ts';

/** How requests travel from the gateway to a worker. */
export type Link = 'TLS' | 'Plain';

interface Gatewayed {
  readonly spec: {
    readonly gateway?: { readonly enabled: boolean; readonly link?: Link | undefined } | undefined;
  };
}

interface Meta {
  readonly metadata: {
    readonly namespace?: string | undefined;
    readonly uid?: string | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
    readonly ownerReferences?:
      | readonly {
          readonly kind: string;
          readonly name: string;
          readonly uid: string;
          readonly controller?: boolean | undefined;
        }[]
      | undefined;
  };
}

/** By which link workers of a group are to be reached; Plain without a gateway. */
export function linkOfGroup({ spec: { gateway } }: Gatewayed): Link {
  return gateway?.enabled === true && gateway.link === 'TLS' ? 'TLS' : 'Plain';
}

/** By which link this worker is reached: as its group was when the worker was made. */
export function linkOfWorker({ metadata }: Meta): Link {
  return metadata.annotations?.[annotations.link] === 'TLS' ? 'TLS' : 'Plain';
}

/** The group of a worker that is reached by TLS; undefined for every other object. */
export interface WorkerGroup {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export function tlsGroupOf(worker: Meta): WorkerGroup | undefined {
  const { namespace = '', ownerReferences } = worker.metadata;
  const owner = ownerReferences?.find(
    ({ controller, kind }) => controller && kind === endpointGroupResource.kind,
  );
  if (!owner || linkOfWorker(worker) !== 'TLS') return undefined;
  return { namespace, name: owner.name, uid: owner.uid };
}

/** The name that every worker of a group proves by its certificate. */
export function groupDnsName({ namespace, name }: Pick<WorkerGroup, 'namespace' | 'name'>): string {
  return `${name}.${namespace}.gpurental.internal`;
}

/** The name that this worker alone proves. */
export function workerDnsName(uid: string, group: Pick<WorkerGroup, 'namespace' | 'name'>): string {
  return `${uid}.${groupDnsName(group)}`;
}

/** Holds the keys by which certificates of a group are signed: read by the operator alone. */
export function authoritySecretName(group: string): string {
  return `${group}-gateway-ca`;
}

/** Holds the certificate by which gateway and operator call the workers of a group. */
export function clientSecretName(group: string): string {
  return `${group}-gateway-client`;
}

/** Their types: machines get no Secret of a type of this group. */
export const AUTHORITY_SECRET_TYPE = `${GROUP}/gateway-ca` as const;
export const CLIENT_SECRET_TYPE = `${GROUP}/gateway-client` as const;

/** Keys of a client Secret. */
export const clientKeys = { certificate: 'tls.crt', key: 'tls.key', authorities: 'ca.crt' } as const;

/** What a machine is given, as base64 of PEM: a value of several lines does not pass every way into an environment. */
export const tlsEnv = {
  certificate: `${RESERVED_ENV_PREFIX}TLS_CERT`,
  key: `${RESERVED_ENV_PREFIX}TLS_KEY`,
  authorities: `${RESERVED_ENV_PREFIX}TLS_CA`,
} as const;
