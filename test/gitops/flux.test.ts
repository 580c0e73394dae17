import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';

interface Example {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: unknown };
}

const objectsOf = (path: string): readonly Example[] =>
  parseAllDocuments(readFileSync(join(REPOSITORY, path), 'utf8')).map(
    (document) => document.toJS() as Example,
  );

test.for(['helm-release', 'kustomization'])(
  'a cluster with Flux and nothing else takes the example %s: each namespace is that of Flux or comes first',
  (name) => {
    const there = new Set(['flux-system']);
    for (const { kind, metadata } of objectsOf(`deploy/gitops/flux/${name}.yaml`)) {
      if (kind === 'Namespace') there.add(metadata.name);
      else expect(there, `${kind} ${metadata.name}`).toContain(metadata.namespace);
    }
  },
);

test('the HelmRelease gets the namespace that `deploy/` has', () => {
  const [namespace] = objectsOf('deploy/base/namespace.yaml');
  expect(objectsOf('deploy/gitops/flux/helm-release.yaml')).toContainEqual(namespace);
});

test('a machine without offers keeps Flux from no newer commit: the sample checks the account alone', () => {
  const machines = objectsOf('deploy/gitops/flux/kustomization.yaml').find(
    ({ kind, metadata }) => kind === 'Kustomization' && metadata.name === 'machines',
  );
  expect(machines).toMatchObject({
    spec: { timeout: '1m', healthChecks: [{ kind: 'MarketplaceAccount', name: 'default' }] },
  });
  expect(machines).not.toHaveProperty('spec.wait');
});
