import * as z from 'zod';
import type { API_VERSION } from './names.ts';
import { choice, list, notes, text, timestamp } from './schema.ts';

/** What the API server keeps about every object; the parts that are read here. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** One of our objects, as the API server gives it: the defaults of the definition are filled in. */
export interface CustomObject<Kind extends string, Spec, Status> {
  apiVersion: typeof API_VERSION;
  kind: Kind;
  metadata: ObjectMeta;
  spec: Spec;
  status?: Status;
}

const condition = z.object({
  type: text({ description: 'What the condition speaks about.', maxLength: 316 }),
  status: choice(['True', 'False', 'Unknown'], { description: 'Whether it holds.' }),
  reason: text({ description: 'One word of the catalogue of reasons.', maxLength: 128 }),
  message: z
    .string()
    .max(4096)
    .meta(notes({ description: 'What happened and what to do, for people.' })),
  lastTransitionTime: timestamp({ description: 'When `status` last changed.' }),
  observedGeneration: z
    .int()
    .min(-1)
    .meta(notes({ description: 'The generation of the spec that this was judged by.' }))
    .optional(),
});

/** As Kubernetes' own `metav1.Condition`. */
export type Condition = z.output<typeof condition>;

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
        'The generation of the spec that this status speaks about; -1 until the operator has seen the object. It moves in one write with that of the conditions.',
    }),
  );
