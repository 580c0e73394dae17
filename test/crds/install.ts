import * as z from 'zod';
import { customResourceDefinition } from '../../scripts/generate/custom-resource-definition.ts';
import { definitions } from '../../src/api/v1alpha1/definitions.ts';
import type { AdminClient } from '../cluster/admin-client.ts';

const PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const WITHIN_MS = 20_000;

const established = z.object({
  status: z
    .object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })).nullish() })
    .optional(),
});

async function isServed(admin: AdminClient, name: string): Promise<boolean> {
  const { body } = await admin.request({ method: 'GET', path: `${PATH}/${name}` });
  const conditions = established.parse(body).status?.conditions ?? [];
  return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
}

/** Applies our definitions as the sources say them, and resolves when the API server serves the kinds. */
export async function installDefinitions(admin: AdminClient): Promise<void> {
  for (const kind of definitions) {
    const body = customResourceDefinition(kind);
    const path = `${PATH}/${body.metadata.name}?fieldManager=tests&force=true&fieldValidation=Strict`;
    await admin.request({ method: 'PATCH', path, body, contentType: 'application/apply-patch+yaml' });
    const deadline = performance.now() + WITHIN_MS;
    while (!(await isServed(admin, body.metadata.name))) {
      if (performance.now() > deadline) throw new Error(`${body.metadata.name} is not served`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
