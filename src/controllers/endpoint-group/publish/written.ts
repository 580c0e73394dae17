import type { Clock } from '../../../lib/clock.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import type { KubeObject } from '../../../runtime/kube/kube-object.ts';
import type { Published } from '../types.ts';

/** Where it is written. */
export interface PublishPorts {
  readonly cluster: KubeClient;
  readonly clock: Clock;
}

/** Somebody may have changed what was written: it is looked at again after this time. */
const LOOK_AGAIN_MS = 600_000;

/** An object as this process last wrote it, as JSON, and when on `clock.now()`. */
export interface Written {
  readonly text: string;
  readonly at: number;
}

/** Whether that very text was written a short while ago: then there is nothing to do. */
export function isFresh(written: Written | undefined, text: string, now: number): boolean {
  return written?.text === text && now - written.at < LOOK_AGAIN_MS;
}

export function notPermitted({ kind, metadata }: KubeObject, error: Error): Published {
  return notPermittedTo(`${kind} ${metadata.name} cannot be written`, error);
}

/** Says what cannot be done, and why the API server does not do it. */
export function notPermittedTo(what: string, { message }: Error): Published {
  return { type: 'problem', reason: 'NotPermitted', detail: `${what}: ${message}`.slice(0, 1024) };
}

/** The sort of the problem; undefined where there is none. */
export function problemOf(published: Published): string | undefined {
  return published.type === 'problem' ? published.reason : undefined;
}
