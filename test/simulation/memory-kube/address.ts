import type { Target } from './failure.ts';
import type { Kind } from './kinds.ts';

/** Address of an object. */
export interface Address {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** Preconditions of a deletion. */
export interface Preconditions {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly propagation?: string | undefined;
}

export const targetOf = ({ kind, name }: Address): Target => ({
  group: kind.group,
  plural: kind.plural,
  kind: kind.kind,
  name,
});
