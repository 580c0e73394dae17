import { annotations, endpointGroupResource, GROUP, RESERVED_ENV_PREFIX } from './names.ts';

/** Transport of requests from the gateway to a worker. */
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

/** Returns the transport for the workers of a group; Plain without a gateway. */
export function linkOfGroup({ spec: { gateway } }: Gatewayed): Link {
  return gateway?.enabled === true && gateway.link === 'TLS' ? 'TLS' : 'Plain';
}

/** Returns the transport for this worker: that of its group when the worker was created. */
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

/** Returns the DNS name in the certificates of all workers of a group. */
export function groupDnsName({ namespace, name }: Pick<WorkerGroup, 'namespace' | 'name'>): string {
  return `${name}.${namespace}.gpurental.internal`;
}

/** Returns the DNS name that only this worker's certificate contains. */
export function workerDnsName(uid: string, group: Pick<WorkerGroup, 'namespace' | 'name'>): string {
  return `${uid}.${groupDnsName(group)}`;
}

/** Returns the name of the Secret with the signing keys of a group's certificates: only the operator reads it. */
export function authoritySecretName(group: string): string {
  return `${group}-gateway-ca`;
}

/**
 * Returns the name of the Secret with the client certificate that gateway and operator use for the workers of a
 * group.
 */
export function clientSecretName(group: string): string {
  return `${group}-gateway-client`;
}

/** Types of these Secrets: machines get no Secret of a type of this API group. */
export const AUTHORITY_SECRET_TYPE = `${GROUP}/gateway-ca` as const;
export const CLIENT_SECRET_TYPE = `${GROUP}/gateway-client` as const;

/** Keys of a client Secret. */
export const clientKeys = { certificate: 'tls.crt', key: 'tls.key', authorities: 'ca.crt' } as const;

/** Variables of a machine, as base64 of PEM: not every way into an environment keeps line breaks. */
export const tlsEnv = {
  certificate: `${RESERVED_ENV_PREFIX}TLS_CERT`,
  key: `${RESERVED_ENV_PREFIX}TLS_KEY`,
  authorities: `${RESERVED_ENV_PREFIX}TLS_CA`,
} as const;
