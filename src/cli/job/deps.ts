import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { FollowLog } from './run-log.ts';

/** Dependencies of a relay. */
export interface RelayDeps {
  readonly kube: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly namespace: string;
  /** Aborted by SIGTERM. The client's own requests do not end with it. */
  readonly signal: AbortSignal;
  /** Prints a line for people. */
  readonly print: (line: string) => void;
  readonly followLog: FollowLog;
}
