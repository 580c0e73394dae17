import type { Target } from './failure.ts';
import type { Kind } from './kinds.ts';

/** Where an object stands. */
export interface Address {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** What a deletion says about the object it means. */
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
