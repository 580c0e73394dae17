import type { JsonObject } from '../memory-kube/json.ts';

export const ALL_PLURALS = [
  ...(['gpuinstances', 'endpointgroups', 'marketplaceaccounts', 'secrets', 'leases', 'configmaps'] as const),
];
export type Plural = (typeof ALL_PLURALS)[number];

/** Clients that work on the same names in turn; each knows only its own replies. */
export const CLIENTS = ['one', 'two'] as const;
export type Client = (typeof CLIENTS)[number];

/**
 * Resource version of a request: from the client's newest reply for that name, from its first, none, or an invented
 * one.
 */
export type Version = 'latest' | 'first' | 'none' | 'bogus';
/** UID of a request. */
export type Uid = 'none' | 'right' | 'wrong';

/**
 * Start of a watch: without a version, from any state, from a stream of the whole state (of any version, or of the
 * newest known or later), or after the newest or the first known version.
 */
export const WATCH_FROM = ['unset', 'any', 'state', 'stateNotOlder', 'newest', 'first'] as const;
export type WatchFrom = (typeof WATCH_FROM)[number];

interface Sent {
  readonly client: Client;
  readonly plural: Plural;
}

interface Named extends Sent {
  readonly name: string;
}

interface Write extends Named {
  readonly version: Version;
  readonly uid: Uid;
}

/** Request without anything that differs between two servers. */
export type Operation =
  | (Named & { readonly type: 'create'; readonly body: JsonObject })
  | (Named & { readonly type: 'get' })
  | (Sent & {
      readonly type: 'list';
      readonly limit: number | undefined;
      /** True if the state must be at least as new as the newest known version, as after an expired watch. */
      readonly notOlder: boolean;
    })
  /** Stays open to the end of the program. */
  | (Sent & {
      readonly type: 'watch';
      readonly from: WatchFrom;
      readonly bookmarks: boolean;
      readonly selector: string;
    })
  | (Write & {
      readonly type: 'replace' | 'merge';
      readonly body: JsonObject;
      readonly subresource: 'status' | undefined;
    })
  /** JSON patch; it tests the version itself if there is one. */
  | (Named & { readonly type: 'json'; readonly version: Version; readonly patch: readonly JsonObject[] })
  | (Write & { readonly type: 'apply'; readonly body: JsonObject })
  | (Write & { readonly type: 'delete' });

export interface Program {
  readonly id: string;
  readonly plural: Plural;
  readonly operations: readonly Operation[];
}
