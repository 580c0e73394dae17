import { expect, test } from 'vitest';
import { watchedGrants } from './access.ts';
import { endpointGroupResource, gpuInstanceResource, marketplaceAccountResource } from './v1alpha1/names.ts';

test.each([marketplaceAccountResource, gpuInstanceResource, endpointGroupResource])(
  '$plural may be followed, and one of them read again after a write that met a newer version',
  ({ plural }) => {
    const verbs = watchedGrants
      .filter((grant) => grant.resources.includes(plural))
      .flatMap((grant) => grant.verbs);
    expect(verbs).toEqual(expect.arrayContaining(['get', 'list', 'watch']));
  },
);
