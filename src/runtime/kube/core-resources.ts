import type { KubeObject, Resource } from './kube-object.ts';

/** Kinds of core/v1 that are only read, created, patched and deleted by name, never listed or watched. */
export const secretResource: Resource = {
  group: '',
  version: 'v1',
  plural: 'secrets',
  kind: 'Secret',
  namespaced: true,
};

export const configMapResource: Resource = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
};

export const namespaceResource: Resource = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
};

export const serviceResource: Resource = {
  group: '',
  version: 'v1',
  plural: 'services',
  kind: 'Service',
  namespaced: true,
};

export const endpointSliceResource: Resource = {
  group: 'discovery.k8s.io',
  version: 'v1',
  plural: 'endpointslices',
  kind: 'EndpointSlice',
  namespaced: true,
};

export const eventResource: Resource = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
};

export const leaseResource: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};

/** Requests the user of a bearer token from the API server. */
export const tokenReviewResource: Resource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'tokenreviews',
  kind: 'TokenReview',
  namespaced: false,
};

/** Requests from the API server if a user is allowed an action. */
export const accessReviewResource: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
};

/** A port of a Service or of an EndpointSlice, in its written form. */
export interface ServicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP';
}

/** core/v1 Service: the fields in use. */
export interface ServiceObject extends KubeObject {
  readonly spec: { readonly ports: readonly ServicePort[] };
}

/** core/v1 ConfigMap: the fields in use. */
export interface ConfigMapObject extends KubeObject {
  readonly data: Readonly<Record<string, string>>;
}

/** discovery.k8s.io/v1 EndpointSlice: the fields in use. */
export interface EndpointSliceObject extends KubeObject {
  readonly addressType: 'IPv4' | 'IPv6';
  readonly endpoints: readonly {
    readonly addresses: readonly string[];
    readonly conditions: {
      readonly ready: boolean;
      readonly serving?: boolean;
      readonly terminating?: boolean;
    };
  }[];
  readonly ports: readonly ServicePort[];
}
