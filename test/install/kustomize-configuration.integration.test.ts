import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { kustomize } from './kustomize.ts';

/* B11: what kustomize does to Secrets, accounts and images reaches the fields of our kinds that name them. */

const MACHINE = `
  accountRef: {name: market}
  image: registry.example/team/server:1
  imagePullSecretRef: {name: pull}
  offers: [{maxPricePerHour: "0.50"}]
  onStartFrom: {secretKeyRef: {name: start, key: start.sh}}
  env:
    - {name: PLAIN, value: plain}
    - name: TOKEN
      valueFrom: {secretKeyRef: {name: token, key: token}}
`;
const OBJECTS = `
apiVersion: gpurental.dev/v1alpha1
kind: MarketplaceAccount
metadata: {name: market}
spec: {apiKeySecretRef: {name: market-key, key: api-key}}
---
apiVersion: gpurental.dev/v1alpha1
kind: GpuInstance
metadata: {name: trainer}
spec:${MACHINE}---
apiVersion: gpurental.dev/v1alpha1
kind: EndpointGroup
metadata: {name: llm}
spec:
  gateway: {keys: {secretName: callers}}
  template:
    spec:${MACHINE.replaceAll(/^/gm, '    ')}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: llm}
spec:
  scaleTargetRef: {apiVersion: gpurental.dev/v1alpha1, kind: EndpointGroup, name: llm}
  maxReplicas: 2
`;
const SECRETS = ['market-key', 'pull', 'start', 'token', 'callers'];
const KUSTOMIZATION = `
namePrefix: team-
resources: [objects.yaml]
configurations: [gpu-rental.yaml]
images: [{name: registry.example/team/server, newTag: "2"}]
secretGenerator:
${SECRETS.map((name) => `  - {name: ${name}, literals: [any=value]}`).join('\n')}
`;

type Loose = { readonly [field: string]: Loose };

let folder = '';
let rendered: readonly Loose[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'configurations-'));
  writeFileSync(join(folder, 'objects.yaml'), OBJECTS);
  writeFileSync(join(folder, 'kustomization.yaml'), KUSTOMIZATION);
  copyFileSync(join(REPOSITORY, 'deploy/kustomize/gpu-rental.yaml'), join(folder, 'gpu-rental.yaml'));
  rendered = parseAllDocuments(await kustomize(folder)).map((document) => document.toJS() as Loose);
}, 15 * 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

const specOf = (kind: string): Loose => rendered.find((object) => String(object.kind) === kind)?.spec ?? {};
/** Returns the name of a generated Secret: with the prefix, and a hash of its content. */
function generated(name: string): unknown {
  const names = rendered
    .filter(({ kind }) => String(kind) === 'Secret')
    .map(({ metadata }) => metadata?.name);
  return names.find((full) => String(full).startsWith(`team-${name}-`));
}

test('B11: names of generated Secrets reach the account and the keys of a gateway', () => {
  expect(generated('market-key')).toMatch(/^team-market-key-\w+$/);
  expect(specOf('MarketplaceAccount').apiKeySecretRef?.name).toBe(generated('market-key'));
  expect(specOf('EndpointGroup').gateway?.keys?.secretName).toBe(generated('callers'));
});

test.each([
  ['GpuInstance', () => specOf('GpuInstance')],
  ['the template of an EndpointGroup', () => specOf('EndpointGroup').template?.spec],
])('names and images of a kustomization reach %s', (_, spec) => {
  expect(spec()).toMatchObject({
    accountRef: { name: 'team-market' },
    image: 'registry.example/team/server:2',
    imagePullSecretRef: { name: generated('pull') },
    onStartFrom: { secretKeyRef: { name: generated('start') } },
    env: [{ name: 'PLAIN' }, { name: 'TOKEN', valueFrom: { secretKeyRef: { name: generated('token') } } }],
  });
});

test('an autoscaler follows its EndpointGroup to the prefixed name', () => {
  expect(specOf('HorizontalPodAutoscaler').scaleTargetRef?.name).toBe('team-llm');
});

test('without the file, kustomize leaves names in our kinds as they are written', async () => {
  writeFileSync(join(folder, 'kustomization.yaml'), KUSTOMIZATION.replace(/^configurations.*$/m, ''));
  expect(await kustomize(folder)).toMatch(/apiKeySecretRef:\n +key: api-key\n +name: market-key\n/);
});
