import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { cutToBytes } from '../writes/cut-text.ts';
import { microTimestampOf } from '../writes/timestamp.ts';

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

/** Limits of the API server's validation, in bytes (kubernetes/kubernetes:pkg/apis/core/validation/events.go). */
const MAX_NOTE_BYTES = 1024;
const MAX_WORD_BYTES = 128;
/** Leaves room in 253 characters for what makes the name unique. */
const MAX_NAME_LENGTH = 230;

interface Reporter {
  readonly controller: string;
  readonly instance: string;
  readonly clock: Clock;
  readonly random: Random;
}

/** The event as the API server takes it, under a new name. */
export function eventObject(
  event: EventFacts,
  { controller, instance, clock, random }: Reporter,
): KubeObject {
  const { name, namespace = 'default' } = event.regarding.metadata;
  const unique = Buffer.from(random.bytes(8)).toString('hex');
  const body = {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `${name.slice(0, MAX_NAME_LENGTH).replace(/[-.]+$/, '')}.${unique}`, namespace },
    eventTime: microTimestampOf(clock.now()),
    reportingController: controller,
    reportingInstance: cutToBytes(instance, MAX_WORD_BYTES),
    type: event.type,
    reason: cutToBytes(event.reason, MAX_WORD_BYTES),
    action: cutToBytes(event.action, MAX_WORD_BYTES),
    note: cutToBytes(event.note, MAX_NOTE_BYTES),
    regarding: referenceTo(event.regarding),
    ...(event.related && { related: referenceTo(event.related) }),
  };
  return body;
}

/** Equal events, told by everything that a reader sees. */
export function seriesKey({ regarding, related, type, reason, action, note }: EventFacts): string {
  return JSON.stringify([objectIdOf(regarding), related && objectIdOf(related), type, reason, action, note]);
}

export function objectIdOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata.namespace ?? ''}/${metadata.name}/${metadata.uid ?? ''}`;
}

function referenceTo({ apiVersion, kind, metadata }: KubeObject) {
  const { name, namespace, uid, resourceVersion } = metadata;
  return { apiVersion, kind, name, namespace, uid, resourceVersion };
}
