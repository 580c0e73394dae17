import type { NodeTimes } from './node/ready.ts';
import type { ControlPlanePlan } from './site.ts';

/** Command from the tests or the demo to the keeper. Every command gets one reply with its ID. */
export type KeeperCommand = { readonly id: number } & (
  | { readonly type: 'start'; readonly plan: ControlPlanePlan }
  | { readonly type: 'startApiServer' }
  | { readonly type: 'stopApiServer' }
  | { readonly type: 'stop' }
);

export type KeeperEvent =
  | { readonly type: 'done'; readonly id: number; readonly state: KeeperState }
  | { readonly type: 'failed'; readonly id: number; readonly why: string }
  /** Runs, and has its namespaces. */
  | { readonly type: 'up' }
  /** A server ended without being told to. */
  | { readonly type: 'lost'; readonly how: string };

export interface KeeperState {
  /** Process IDs by server name. */
  readonly processIds: Readonly<Record<string, number>>;
  /** From the first start on. */
  readonly site: KeptSite | undefined;
  readonly nodeTimes: NodeTimes | undefined;
}

/** Addresses of a kept control plane. */
export interface KeptSite {
  readonly url: string;
  readonly etcdUrl: string;
  readonly caPem: string;
  readonly adminToken: string;
  readonly kubeconfigPath: string;
  readonly folder: string;
  readonly auditLogPath: string | undefined;
}
