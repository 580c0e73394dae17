import type { KubeObject } from './kube-object.ts';

/** A port of a Service or of an EndpointSlice, as it is written. */
export interface ServicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP';
}

/** core/v1 Service: the part that is ours. */
export interface ServiceObject extends KubeObject {
  readonly spec: { readonly ports: readonly ServicePort[] };
}

/** discovery.k8s.io/v1 EndpointSlice: the part that is ours. */
export interface EndpointSliceObject extends KubeObject {
  readonly addressType: 'IPv4' | 'IPv6';
  readonly endpoints: readonly {
    readonly addresses: readonly string[];
    readonly conditions: { readonly ready: boolean };
  }[];
  readonly ports: readonly ServicePort[];
}
