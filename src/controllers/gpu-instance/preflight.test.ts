import { expect, test } from 'vitest';
import { facts, given } from '../../../test/builders/observed.ts';
import { preflight } from './preflight.ts';

test('B02: an image that no registry serves, stored before the rule, is refused before anything is read', () => {
  const seen = given({ observed: { inputs: undefined } });
  const spec = { ...seen.object.spec, image: 'ghcr.io/Acme/Server:latest' };
  expect(preflight({ ...seen, object: { ...seen.object, spec } }, facts())).toEqual({
    type: 'problem',
    reason: 'InvalidSpec',
    detail: 'spec.image: write the path of the image in lower case: ghcr.io/acme/server:tag.',
  });
  expect(preflight(seen, facts())).toEqual({ type: 'unread' });
});
