import { customResourceDefinition } from '../../scripts/generate/custom-resource-definition.ts';
import { definitions } from '../../src/api/v1alpha1/definitions.ts';
import { API_VERSION } from '../../src/api/v1alpha1/names.ts';
import type { AdminClient } from '../cluster/admin-client.ts';
import { untilServed } from '../cluster/served.ts';

const PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Applies the CRDs of the sources, and resolves when the API server serves the kinds. */
export async function installDefinitions(admin: AdminClient): Promise<void> {
  for (const kind of definitions) {
    const body = customResourceDefinition(kind);
    const path = `${PATH}/${body.metadata.name}?fieldManager=tests&force=true&fieldValidation=Strict`;
    await admin.request({ method: 'PATCH', path, body, contentType: 'application/apply-patch+yaml' });
  }
  await untilOurKindsAreServed(admin);
}

/** Plural names of today's kinds. An earlier version has fewer. */
const OUR_KINDS = definitions.map(({ names }) => names.plural);

/** Waits until the kinds are served, if the CRDs were applied in another way. */
export async function untilOurKindsAreServed(admin: AdminClient, kinds = OUR_KINDS): Promise<void> {
  for (const plural of kinds) await untilServed(admin, `/apis/${API_VERSION}/${plural}`);
}
