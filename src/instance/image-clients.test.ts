import { expect, test } from 'vitest';
import { imageClients, selfEndHint } from './image-clients.ts';

const AFTER = 'Self-end: the machine destroys itself after 1h10m of running';
const NONE =
  'has neither curl, python3 nor openssl, so only the operator ends its machines. Install curl in the image.';

test.each([
  ['vllm/vllm-openai:v0.11.2', `${AFTER}, by curl of vllm/vllm-openai.`],
  ['docker.io/pytorch/pytorch:2.9.1', `${AFTER}, by python3 of pytorch/pytorch.`],
  ['library/python:3.13', `${AFTER}, by python3 of library/python.`],
  ['python', `${AFTER}, by python3 of python.`],
  ['ubuntu:24.04', `Self-end: ubuntu ${NONE}`],
  ['debian', `Self-end: debian ${NONE}`],
  ['alpine@sha256:0', `Self-end: alpine ${NONE}`],
  ['docker.io/library/busybox', `Self-end: library/busybox ${NONE}`],
  ['example/ubuntu', `${AFTER}, if the image has curl, python3 or openssl.`],
  ['ubuntux', `${AFTER}, if the image has curl, python3 or openssl.`],
  ['x/vllm/vllm-openai', `${AFTER}, if the image has curl, python3 or openssl.`],
  ['vllm/vllm-openai-cpu', `${AFTER}, if the image has curl, python3 or openssl.`],
  ['my/pytorch/pytorch', `${AFTER}, if the image has curl, python3 or openssl.`],
  ['pytorch/pytorch-x', `${AFTER}, if the image has curl, python3 or openssl.`],
  ['my-python', `${AFTER}, if the image has curl, python3 or openssl.`],
  ['python-x', `${AFTER}, if the image has curl, python3 or openssl.`],
  [undefined, `${AFTER}, if the image has curl, python3 or openssl.`],
])('a plan says how a machine of %s ends itself (C01)', (image, hint) => {
  expect(selfEndHint(image, { fuses: { lifeSeconds: 4_200 } })).toBe(hint);
});

test('a plan names the lease beside the life, or either alone (C01)', () => {
  expect(selfEndHint('x', { fuses: { lifeSeconds: 4_200, leaseSeconds: 7_200 } })).toBe(
    `${AFTER}, or 2h without a renewal, if the image has curl, python3 or openssl.`,
  );
  expect(selfEndHint('x', { fuses: { leaseSeconds: 7_200 } })).toBe(
    'Self-end: the machine destroys itself after 2h without a renewal, if the image has curl, python3 or openssl.',
  );
});

test('a plan names the flag of a lease by report', () => {
  expect(selfEndHint('x', { fuses: { leaseSeconds: 7_200 }, isReporting: true })).toContain(
    'or openssl. It requests renewals from the operator, which needs --worker-report-url.',
  );
});

test('the clients of an image are in the order in which the fuse tries them (C01)', () => {
  expect(imageClients('pytorch/pytorch:2.9.1')).toEqual({
    ...{ name: 'pytorch/pytorch', clients: ['python3', 'openssl'] },
  });
  expect(imageClients(undefined)).toBeUndefined();
});
