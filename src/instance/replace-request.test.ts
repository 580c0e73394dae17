import { expect, test } from 'vitest';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../api/v1alpha1/names.ts';
import { asHandled, requestedReplacement } from './replace-request.ts';

const AT = '2026-11-20T12:00:00Z';
const EARLIER = '2026-11-20T11:59:59Z';
const LATER = '2026-11-20T12:00:01Z';

function pending(noted: GpuInstance['metadata']['annotations'], status?: GpuInstance['status']) {
  return requestedReplacement({ metadata: { name: 'a', ...(noted && { annotations: noted }) }, status });
}

const asked = (text: string) => ({ [annotations.replaceAt]: text });

test.each<readonly [string, number | undefined, GpuInstance['status']]>([
  ['is pending when its machine was rented before it', Date.parse(AT), { rentedAt: EARLIER }],
  [
    'is pending when only an earlier request was handled',
    Date.parse(AT),
    { rentedAt: EARLIER, replacedAt: EARLIER },
  ],
  ['is done when it was handled', undefined, { rentedAt: EARLIER, replacedAt: AT }],
  ['is done when its machine was rented at that time', undefined, { rentedAt: AT }],
  ['is done when its machine was rented later', undefined, { rentedAt: LATER }],
  ['is none when no machine is rented', undefined, {}],
  ['is none when nothing is known of the object', undefined, undefined],
])('a requested replacement %s', (_, expected, status) => {
  expect(pending(asked(AT), status)).toBe(expected);
});

test.each([
  ['without annotations', undefined],
  ['with other annotations', { other: AT }],
  ['with a text that is no time', asked('soon')],
])('an object %s requests no replacement', (_, noted) => {
  expect(pending(noted, { rentedAt: EARLIER })).toBeUndefined();
});

test('a request is remembered by its first 253 characters', () => {
  expect(asHandled('x'.repeat(300))).toBe('x'.repeat(253));
  expect(asHandled(AT)).toBe(AT);
});
