import { describe, expect, test } from 'vitest';
import { reasonHelp } from '../../scripts/generate/reason-causes.ts';
import { recordedMessage } from '../../scripts/generate/reason-messages.ts';
import { reasons } from '../../src/api/v1alpha1/reasons.ts';

/* P15: messages of the reasons page are those of the operator, recorded by the tests of its decisions. */

describe.each(Object.entries(reasonHelp))(
  'the section of %s',
  (reason, help: { readonly example?: string }) => {
    test('P15: shows the recorded message, else one that is written for it', () => {
      expect(recordedMessage(reason) ?? help.example).toMatch(/\w/);
    });
  },
);

test('P15: most reasons have a recorded message', () => {
  const recorded = Object.keys(reasons).filter((reason) => recordedMessage(reason) !== undefined);
  expect(recorded.length).toBeGreaterThan(Object.keys(reasons).length / 2);
});
