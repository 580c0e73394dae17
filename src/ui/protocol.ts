import type { EndpointGroup } from '../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import type { ShownEvent } from '../views/events.ts';
import type { FleetKind } from '../views/fleet.ts';

/* Messages between the process of `gpu-rent ui` and its page. Both are built from the same commit. */

/** State of the list-watch of one kind. */
export type KindStatus =
  | { readonly state: 'loading' }
  | { readonly state: 'ready' }
  /** `verb`: the missing right. */
  | { readonly state: 'forbidden'; readonly verb: string }
  | { readonly state: 'unserved' };

/** Connection of the process to the API server. */
export type Connection =
  | { readonly state: 'live' }
  /** `since`: epoch milliseconds from which the shown data may be outdated. */
  | { readonly state: 'lost'; readonly since: number; readonly message: string }
  | { readonly state: 'expired'; readonly since: number; readonly message: string };

/** State of the whole stream. Sent when it changes, and every few seconds for the clock. */
export interface FeedStatus {
  /** Clock of the process, epoch milliseconds. */
  readonly now: number;
  /** Address of the API server. */
  readonly cluster: string;
  /** Namespace of the lists; undefined for all. */
  readonly namespace?: string;
  readonly kinds: Readonly<Record<FleetKind, KindStatus>>;
  readonly connection: Connection;
}

/** An object in the reduced form in which the page receives it. */
export type FeedObject = GpuInstance | EndpointGroup | MarketplaceAccount;

/** Changed and removed objects. */
export interface FeedChange {
  /** True for the first change of a stream: all objects that are not in it are gone. */
  readonly reset?: boolean;
  readonly objects: readonly FeedObject[];
  /** Row ids, such as `gpui/namespace/name`. */
  readonly removed: readonly string[];
}

/** Parts of one object that the stream does not have. */
export interface ObjectDetail {
  /** Manifest as kubectl prints it, without managed fields, the operator's record and the contents of the container. */
  readonly yaml: string;
  readonly events: readonly ShownEvent[];
  /** Reason why there are no events; undefined if they were read. */
  readonly noEvents?: string;
}

/** Message of the stream: one line of JSON. */
export type FeedMessage = { readonly status: FeedStatus } | { readonly change: FeedChange };

/** Paths of the process. */
export const PATHS = {
  page: '/',
  script: '/app.js',
  style: '/app.css',
  icon: '/icon.svg',
  stream: '/stream',
  object: '/object',
} as const;

/** Header with the token, without which no data is sent. Another site cannot set it, and a browser never adds it. */
export const PAGE_HEADER = 'x-gpu-rent-page';
