import type { AccountDirectory } from '../../accounts/account-directory.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { Env } from '../../lib/env.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { Identity } from '../../ownership/identity.ts';
import type { EventRecorder } from '../../runtime/events/events.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Informer } from '../../runtime/list-watch/informer.ts';
import type { ControllerMetrics, QueueMetrics } from '../../runtime/metrics-ports.ts';
import type { GpuInstanceMetrics } from './metrics.ts';
import type { Prober } from './probe/probe.ts';

export interface GpuInstanceControllerOptions {
  readonly env: Pick<Env, 'clock' | 'random' | 'log'>;
  readonly cluster: KubeClient;
  readonly instances: Informer<GpuInstance>;
  readonly accounts: AccountDirectory;
  /** This installation's identity; undefined while it is not known. */
  readonly identity: () => Identity | undefined;
  readonly constants: PurchaseConstants;
  readonly lease: { leaseRemainingMs(): number };
  readonly events: EventRecorder;
  /** Asks a machine whether it serves; maps addresses where a map is configured. */
  readonly prober: Prober;
  /** Whether machines on private addresses may be published. */
  readonly allowPrivateAddresses: boolean;
  readonly workers?: number;
  readonly metrics?: ControllerMetrics & QueueMetrics;
  readonly instanceMetrics?: GpuInstanceMetrics;
}
