import type { JsonObject } from '../memory-kube/json.ts';

export const ALL_PLURALS = [
  ...(['gpuinstances', 'endpointgroups', 'marketplaceaccounts', 'secrets', 'leases', 'configmaps'] as const),
];
export type Plural = (typeof ALL_PLURALS)[number];

/** Two clients work on the same names in turn; each knows only what it was answered itself. */
export const CLIENTS = ['one', 'two'] as const;
export type Client = (typeof CLIENTS)[number];

/** Which resource version a request carries: of the client's newest reply for that name, of its first, none, or a made-up one. */
export type Version = 'latest' | 'first' | 'none' | 'bogus';
/** Which incarnation of an object a request is for. */
export type Uid = 'none' | 'right' | 'wrong';

/**
 * Where a watch begins: without a version, from whatever the server has, with the whole state as a stream (of any
 * version, or of one not older than the newest known), or after the newest or the first version that is known.
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

/** One request, written without anything that differs between two servers. */
export type Operation =
  | (Named & { readonly type: 'create'; readonly body: JsonObject })
  | (Named & { readonly type: 'get' })
  | (Sent & {
      readonly type: 'list';
      readonly limit: number | undefined;
      /** Whether it asks for a state that is not older than the newest version known, as after an expired watch. */
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
  /** The version, where there is one, is tested by the patch itself. */
  | (Named & { readonly type: 'json'; readonly version: Version; readonly patch: readonly JsonObject[] })
  | (Write & { readonly type: 'apply'; readonly body: JsonObject })
  | (Write & { readonly type: 'delete' });

export interface Program {
  readonly id: string;
  readonly plural: Plural;
  readonly operations: readonly Operation[];
}
