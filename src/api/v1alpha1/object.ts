import * as z from 'zod';
import type { ObjectMeta } from '../../lib/object-meta.ts';
import { fittingText } from '../../lib/text.ts';
import type { API_VERSION } from './names.ts';
import { choice, list, notes, text, timestamp } from './schema.ts';

/** An object of the operator, from the API server: the defaults of the CRD are filled in. */
export interface CustomObject<Kind extends string, Spec, Status> {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: Kind;
  readonly metadata: ObjectMeta;
  readonly spec: Spec;
  readonly status?: Status | undefined;
}

export const condition = z.object({
  type: text({ description: 'Type of the condition.', maxLength: 316 }),
  status: choice(['True', 'False', 'Unknown'], { description: 'Whether it holds.' }),
  reason: text({ description: 'Reason in the catalogue of reasons.', maxLength: 128 }),
  message: z
    .string()
    .max(4096)
    .meta(notes({ description: 'Event and advice, for people.' })),
  lastTransitionTime: timestamp({ description: 'When `status` last changed.' }),
  observedGeneration: z
    .int()
    .min(-1)
    .meta(
      notes({
        description: 'The generation of the spec that was evaluated; if left out, the one of the status.',
      }),
    )
    .optional(),
});

/** A condition in the form of Kubernetes' own `metav1.Condition`. */
export type Condition = z.output<typeof condition>;

/**
 * A status has one writer, so each status is `atomic`: the API server tracks its owner once, not per field. Others
 * may add a condition by update or patch, and the operator keeps it; server-side apply would replace the whole
 * status.
 */
export const conditions = list(condition, {
  description: 'The state in single statements. `kubectl wait --for=condition=Ready` reads these.',
  max: 32,
  list: { type: 'map', keys: ['type'] },
});

export const observedGeneration = z
  .int()
  .min(-1)
  .meta(
    notes({
      description:
        'Generation of the spec that this status describes; -1 until the operator has seen the object. It changes in one write with the generation of the conditions.',
    }),
  );

/** Maximum characters of a status field that echoes an annotation. */
export const MAX_TOKEN_LENGTH = 253;

/**
 * Returns the request token that a user set as an annotation, for the status: truncated to the maximum of its field,
 * since a longer echo would fail every write of that status. Undefined if the annotation is absent or empty.
 */
export function requestToken({ annotations }: ObjectMeta, annotation: string): string | undefined {
  return fittingText(annotations?.[annotation], MAX_TOKEN_LENGTH);
}
