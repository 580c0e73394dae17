import * as z from 'zod';
import type { AdminClient } from '../cluster/admin-client.ts';

/** Verbs on one resource. */
export interface Question {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly name?: string;
  readonly verbs: readonly string[];
}

const review = z.object({ status: z.object({ allowed: z.boolean() }) });

/** Returns the verbs that the API server allows a user. */
export async function allowedTo(
  admin: AdminClient,
  user: string,
  { verbs, ...resourceAttributes }: Question,
  namespace: string,
): Promise<readonly string[]> {
  const allowed: string[] = [];
  for (const verb of verbs) {
    const reply = await admin.request({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: { user, resourceAttributes: { ...resourceAttributes, namespace, verb } },
      },
    });
    if (review.parse(reply.body).status.allowed) allowed.push(verb);
  }
  return allowed;
}
