import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { KubeClient } from './kube-client.ts';
import type { KubeObject } from './kube-object.ts';

/** Something a user should see beside an object. */
export interface EventFacts {
  readonly regarding: KubeObject;
  readonly related?: KubeObject | undefined;
  readonly type: 'Normal' | 'Warning';
  /** Past-tense CamelCase: `InstanceRented`. */
  readonly reason: string;
  /** What was being done: `Renting`. */
  readonly action: string;
  /** One sentence with the number that matters; cut to 1024 bytes. */
  readonly note: string;
}

/**
 * Writes events.k8s.io/v1 events. Equal events become one with a series; an object with very many gets no more
 * than 25 at once and one per 5 minutes after that. Never throws and never waits: an event that cannot be written
 * is logged and dropped, and in a terminating namespace dropped silently.
 */
export interface EventRecorder {
  record(event: EventFacts): void;
  /** Resolves when everything recorded so far is written or dropped. */
  flush(): Promise<void>;
}

export interface EventRecorderOptions {
  readonly client: KubeClient;
  /** A qualified name: `gpurental.dev/operator`. */
  readonly controller: string;
  /** Which process: the pod's name. At most 128 bytes are kept. */
  readonly instance: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}
