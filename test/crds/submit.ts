import * as z from 'zod';
import type { KindDefinition } from '../../src/api/v1alpha1/definitions.ts';
import { API_VERSION } from '../../src/api/v1alpha1/names.ts';
import type { AdminClient } from '../cluster/admin-client.ts';

const refusal = z.object({
  details: z.object({
    causes: z.array(z.object({ field: z.string().optional(), message: z.string() })).optional(),
  }),
});

/** Refusals of the API server: empty if it accepted the object, else the lines that kubectl prints. */
export type Refusals = readonly string[];

export interface Submission {
  readonly kind: KindDefinition;
  readonly namespace: string;
  readonly name?: string;
  readonly spec: unknown;
}

export const collection = ({ kind, namespace }: Pick<Submission, 'kind' | 'namespace'>): string =>
  `/apis/${API_VERSION}/namespaces/${namespace}/${kind.names.plural}`;

const bodyOf = ({ kind, name = 'row', spec }: Submission) => ({
  apiVersion: API_VERSION,
  kind: kind.names.kind,
  metadata: { name },
  spec,
});

const refusalsOf = (status: number, body: unknown): Refusals =>
  status < 300
    ? []
    : (refusal.parse(body).details.causes ?? []).map(({ field, message }) => `${field}: ${message}`);

/** Submits an object without keeping it. */
export async function submit(admin: AdminClient, submission: Submission): Promise<Refusals> {
  const path = `${collection(submission)}?dryRun=All&fieldValidation=Strict`;
  const reply = await admin.request({ method: 'POST', path, body: bodyOf(submission), accept: [422] });
  return refusalsOf(reply.status, reply.body);
}

/** Keeps an object of the one spec, then tries to change it to the other; it is gone afterwards. */
export async function change(admin: AdminClient, before: Submission, spec: unknown): Promise<Refusals> {
  const created = await admin.request({ method: 'POST', path: collection(before), body: bodyOf(before) });
  const { name, resourceVersion } = z
    .object({ metadata: z.object({ name: z.string(), resourceVersion: z.string() }) })
    .parse(created.body).metadata;
  const path = `${collection(before)}/${name}`;
  const body = { ...bodyOf({ ...before, spec }), metadata: { name, resourceVersion } };
  try {
    const reply = await admin.request({ method: 'PUT', path, body, accept: [422] });
    return refusalsOf(reply.status, reply.body);
  } finally {
    await admin.request({ method: 'DELETE', path });
  }
}
