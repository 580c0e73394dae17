import { describe, expect, test } from 'vitest';
import { annotations } from '../../api/v1alpha1/names.ts';
import { redactObject } from './report-redaction.ts';

const [OURS = ''] = Object.values(annotations);
const METADATA = {
  name: 'x',
  labels: { team: 'gpu' },
  annotations: { 'team.example/db': 'SECRET', [OURS]: 'ours' },
  managedFields: [{ manager: 'kubectl' }],
};
const SHOWN_METADATA = {
  name: 'x',
  labels: { team: 'gpu' },
  annotations: { 'team.example/db': '[redacted]', [OURS]: 'ours' },
};

describe('values of annotations that are not ours are left out', () => {
  test('at the top', () => {
    expect(redactObject({ kind: 'Pod', metadata: METADATA })).toEqual({
      kind: 'Pod',
      metadata: SHOWN_METADATA,
    });
  });

  test('of the objects that one makes, at any depth', () => {
    const object = {
      metadata: { name: 'group' },
      spec: { template: { metadata: METADATA, spec: {} }, claims: [{ inner: { metadata: METADATA } }] },
    };
    expect(redactObject(object)).toEqual({
      metadata: { name: 'group' },
      spec: {
        template: { metadata: SHOWN_METADATA, spec: {} },
        claims: [{ inner: { metadata: SHOWN_METADATA } }],
      },
    });
  });
});

test.each([
  ['/load?token=S&more=T', '/load?[redacted]'],
  ['/load?', '/load?[redacted]'],
  ['/load', '/load'],
])('of the path %s the query is left out', (path, shown) => {
  const object = (text: string) => ({
    metadata: { name: 'x' },
    spec: { load: { httpPull: { path: text } }, probes: [{ httpGet: { path: text } }] },
  });
  expect(redactObject(object(path))).toEqual(object(shown));
});

test('values of variables, scripts, headers and everything under a secret name are left out; names stay', () => {
  const spec = {
    onStart: 'curl -H S',
    env: [
      { name: 'A', value: 'S' },
      { name: 'B', valueFrom: { secretKeyRef: { name: 'k', key: 'password' } } },
    ],
    jupyterToken: 'S',
    apiKeySecretRef: { name: 'k', key: 'api-key' },
  };
  expect(redactObject({ metadata: { name: 'x' }, spec })).toEqual({
    metadata: { name: 'x' },
    spec: {
      ...spec,
      onStart: '[redacted]',
      env: [{ name: 'A', value: '[redacted]' }, spec.env[1]],
      jupyterToken: '[redacted]',
    },
  });
});
