import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import {
  CONNECTION_SECRET_TYPE,
  connectionKeys,
  connectionSecretName,
  LOG_KEY,
  LOG_SECRET_TYPE,
  labels,
  logSecretName,
  OPERATOR_NAME,
} from '../../api/v1alpha1/names.ts';
import { hasService } from '../../instance/run.ts';
import type { AddressPolicy } from '../../lib/networks.ts';
import type { Secret } from '../../lib/secret.ts';
import { endpointAddress } from '../../reach/endpoint-address.ts';
import { connectionAddress } from '../../reach/machine-addresses.ts';
import { servicePortsOf } from '../../reach/service-ports.ts';
import type { EndpointSliceObject, ServiceObject, ServicePort } from '../../runtime/kube/core-resources.ts';
import { controllerReference, type KubeObject } from '../../runtime/kube/kube-object.ts';
import type { Publication, StatusFields } from './types.ts';

/** core/v1 Secret as it is written. */
export interface ConnectionSecret extends KubeObject {
  readonly type: string;
  readonly data: Readonly<Record<string, string>>;
}

export function isConnectionSecret(child: KubeObject): child is ConnectionSecret {
  return child.kind === 'Secret';
}

/** Secrets that the connection Secret contains in addition to the status. */
interface ConnectionSecrets {
  readonly workerToken: string;
  /**
   * Undefined if this process does not know it; a key in the Secret stays if it belongs to the same machine.
   */
  readonly instanceApiKey: Secret | undefined;
}

/** Suffixes of the names of an object's slices. */
export const SLICE_SUFFIXES = ['direct', 'ssh'] as const;
type SliceSuffix = (typeof SLICE_SUFFIXES)[number];

export function sliceName({ metadata }: GpuInstance, suffix: SliceSuffix): string {
  return `${metadata.name}-${suffix}`;
}

export function isOwnedBy({ metadata }: KubeObject, owner: GpuInstance): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) ?? false;
}

/**
 * Returns true if this object created a child that has no owner any more: `kubectl delete --cascade=orphan` removes
 * the owner reference before the operator's finalizer runs. A child with another owner is never changed, whatever its
 * labels.
 */
export function isOrphanOf({ metadata }: KubeObject, owner: GpuInstance): boolean {
  const { ownerReferences = [], labels: given = {} } = metadata;
  const isMarked = owner.metadata.uid !== undefined && given[labels.instanceUid] === owner.metadata.uid;
  return ownerReferences.length === 0 && isMarked && given[labels.managedBy] === OPERATOR_NAME;
}

const SSH_PORT_NAME = 'ssh';
const SSH_PORT = 22;

/** Returns the connection Secret in the shape of the service binding specification. */
export function connectionSecret(
  owner: GpuInstance,
  { fields }: Publication,
  secrets: ConnectionSecrets,
): ConnectionSecret {
  const { host, port } = connectionAddress(fields);
  const values: Record<string, string | undefined> = {
    [connectionKeys.type]: 'gpu-instance',
    [connectionKeys.provider]: OPERATOR_NAME,
    [connectionKeys.host]: host,
    [connectionKeys.port]: port === undefined ? undefined : String(port),
    [connectionKeys.username]: 'root',
    [connectionKeys.instanceId]: fields.instanceId ?? '',
    [connectionKeys.address]: fields.publicAddress,
    [connectionKeys.instanceApiKey]: secrets.instanceApiKey?.reveal(),
    [connectionKeys.workerToken]: secrets.workerToken,
  };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: childMeta(owner, connectionSecretName(owner.metadata.name)),
    type: CONNECTION_SECRET_TYPE,
    data: Object.fromEntries(
      Object.entries(values).flatMap(([key, value]) =>
        value === undefined ? [] : [[key, Buffer.from(value).toString('base64')]],
      ),
    ),
  };
}

/** Returns the Secret with a log, which is packed by gzip. */
export function logSecret(owner: GpuInstance, packed: Buffer): ConnectionSecret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: childMeta(owner, logSecretName(owner.metadata.name)),
    type: LOG_SECRET_TYPE,
    data: { [LOG_KEY]: packed.toString('base64') },
  };
}

/** Returns the selector-less Service; undefined if it is disabled or the machine opens no port. */
export function instanceService(owner: GpuInstance): ServiceObject | undefined {
  const { metadata } = owner;
  const ports = servicePorts(owner);
  if (!hasService(owner) || ports.length === 0) return undefined;
  return { apiVersion: 'v1', kind: 'Service', metadata: childMeta(owner, metadata.name), spec: { ports } };
}

/**
 * Returns the slices of the Service: one for the machine's direct address, and one for SSH if that has another
 * address. Only addresses that a marketplace may return are published, and never a host name, which the API server
 * would refuse.
 */
export function endpointSlices(
  owner: GpuInstance,
  { fields, ready }: Publication,
  policy: AddressPolicy,
): readonly EndpointSliceObject[] {
  if (!hasService(owner)) return [];
  const direct = directPorts(owner, fields);
  const ssh = sshPort(owner, fields);
  const together = ssh !== undefined && fields.ssh?.host === fields.publicAddress;
  return [
    ...sliceOf(owner, {
      suffix: 'direct',
      address: fields.publicAddress,
      ports: together ? [...direct, ssh] : direct,
      ...{ ready, policy },
    }),
    ...sliceOf(owner, {
      suffix: 'ssh',
      address: fields.ssh?.host,
      ports: ssh && !together ? [ssh] : [],
      ...{ ready, policy },
    }),
  ];
}

/** Addresses for texts (RFC 5737): in no network, and accepted by the API server. */
const TEXT_ADDRESSES = { direct: '192.0.2.1', ssh: '192.0.2.2' } as const;

/**
 * Returns fields of a machine that maps every port, and SSH to another address; an object then has all possible
 * children.
 */
export function reachedEverywhere(owner: GpuInstance): StatusFields {
  const ports = servicePorts(owner).map(({ port, protocol }) => {
    return { containerPort: port, protocol, publicPort: port };
  });
  const { direct, ssh } = TEXT_ADDRESSES;
  return { ports, publicAddress: direct, ssh: { host: ssh, port: SSH_PORT } };
}

/** Returns the reason why a desired Service has no endpoint although the machine has an address. */
export function unpublished(
  owner: GpuInstance,
  { fields: { publicAddress } }: Publication,
  policy: AddressPolicy,
): string | undefined {
  if (!instanceService(owner) || publicAddress === undefined) return undefined;
  const found = endpointAddress(publicAddress, policy);
  return 'problem' in found ? `its address ${publicAddress} ${found.problem}` : undefined;
}

interface SliceFacts {
  readonly suffix: SliceSuffix;
  readonly address: string | undefined;
  readonly ports: readonly ServicePort[];
  readonly ready: boolean;
  readonly policy: AddressPolicy;
}

function sliceOf(
  owner: GpuInstance,
  { suffix, address, ports, ready, policy }: SliceFacts,
): readonly EndpointSliceObject[] {
  if (address === undefined || ports.length === 0) return [];
  const found = endpointAddress(address, policy);
  if ('problem' in found) return [];
  const { metadata } = owner;
  const meta = childMeta(owner, sliceName(owner, suffix));
  return [
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        ...meta,
        labels: {
          ...meta.labels,
          [labels.serviceName]: metadata.name,
          [labels.sliceManagedBy]: OPERATOR_NAME,
        },
      },
      addressType: found.addressType,
      endpoints: [{ addresses: [found.address], conditions: { ready } }],
      ports,
    },
  ];
}

function servicePorts({ spec }: GpuInstance): readonly ServicePort[] {
  const declared = servicePortsOf(spec.ports);
  const ssh = { name: SSH_PORT_NAME, port: SSH_PORT, protocol: 'TCP' as const };
  const taken = declared.some((port) => port.port === SSH_PORT || port.name === SSH_PORT_NAME);
  return spec.ssh && !taken ? [...declared, ssh] : declared;
}

function directPorts(owner: GpuInstance, fields: StatusFields): readonly ServicePort[] {
  const published = new Map(
    (fields.ports ?? []).map((port) => [`${port.containerPort}/${port.protocol}`, port.publicPort]),
  );
  return servicePorts(owner).flatMap(({ name, port, protocol }) => {
    const publicPort = published.get(`${port}/${protocol}`);
    const isReachedBySsh = fields.ssh && isSsh({ name, port });
    return publicPort === undefined || isReachedBySsh ? [] : [{ name, port: publicPort, protocol }];
  });
}

function sshPort(owner: GpuInstance, fields: StatusFields): ServicePort | undefined {
  const declaresSsh = servicePorts(owner).some(isSsh);
  return declaresSsh && fields.ssh
    ? { name: SSH_PORT_NAME, port: fields.ssh.port, protocol: 'TCP' }
    : undefined;
}

/**
 * Returns true for the SSH port, whose public address the marketplace reports; another port may also be named ssh.
 */
function isSsh({ name, port }: Pick<ServicePort, 'name' | 'port'>): boolean {
  return name === SSH_PORT_NAME && port === SSH_PORT;
}

function childMeta(owner: GpuInstance, name: string): KubeObject['metadata'] {
  return {
    name,
    namespace: owner.metadata.namespace,
    labels: {
      [labels.managedBy]: OPERATOR_NAME,
      [labels.instance]: owner.metadata.name.slice(0, 63),
      [labels.instanceUid]: owner.metadata.uid ?? '',
    },
    ownerReferences: [controllerReference(owner)],
  };
}
