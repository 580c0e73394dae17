import type { TransportResponse } from '../../lib/transport.ts';
import type { Resource } from './kube-object.ts';

/** A complete list: every page of one consistent snapshot. */
export interface KubeList<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

export interface StreamRequest {
  readonly namespace?: string | undefined;
  readonly query: Readonly<Record<string, string>>;
  readonly accept?: string | undefined;
  readonly signal: AbortSignal;
}

/** The part of the client that list-watch needs: a GET of a collection whose body is read as it arrives. */
export interface KubeStream {
  /** Resolves with a successful reply, whose body the caller must read to its end or destroy. Never retried. */
  stream(resource: Resource, request: StreamRequest): Promise<TransportResponse>;
}
