import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { definitions } from '../../../src/api/v1alpha1/definitions.ts';
import { REPOSITORY } from '../artifact.ts';
import { yaml } from '../yaml.ts';
import { ENVOY_IMAGE } from './envoy-image.ts';

const HOME = 'https://github.com/gpu-rental-operator/gpu-rental-operator';
const KUBERNETES = '>=1.30.0-0';

const packageFile = z.object({ version: z.string() });

/** The one version of package, image and charts. */
export const { version } = packageFile.parse(
  JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')),
);

/** A sample per kind, for Artifact Hub; the plain ones. */
const EXAMPLES = ['account.yaml', 'gpu-instance-trainer.yaml', 'endpoint-group-manual.yaml'];

function sample(name: string): string {
  const text = readFileSync(join(REPOSITORY, 'deploy/samples', name), 'utf8');
  const [first = ''] = text.split(/^---$/m);
  return first.replaceAll(/^#.*\n/gm, '').trim();
}

function annotations(): Readonly<Record<string, string>> {
  const crds = definitions.map(({ names, description }) => ({
    kind: names.kind,
    version: names.version,
    name: `${names.plural}.${names.group}`,
    displayName: names.kind,
    description,
  }));
  const envoy = `${ENVOY_IMAGE.registry}/${ENVOY_IMAGE.repository}@${ENVOY_IMAGE.digest}`;
  const image = `ghcr.io/gpu-rental-operator/gpu-rental-operator:${version}`;
  return {
    'artifacthub.io/license': 'Apache-2.0',
    'artifacthub.io/category': 'ai-machine-learning',
    'artifacthub.io/operator': 'true',
    'artifacthub.io/operatorCapabilities': 'Seamless Upgrades',
    'artifacthub.io/containsSecurityUpdates': 'false',
    'artifacthub.io/prerelease': 'true',
    'artifacthub.io/images': yaml([
      { name: 'operator', image, platforms: ['linux/amd64', 'linux/arm64'] },
      { name: 'envoy', image: envoy, platforms: ['linux/amd64', 'linux/arm64'] },
    ]),
    'artifacthub.io/links': yaml([
      { name: 'Documentation', url: `${HOME}/blob/main/docs/README.md` },
      { name: 'Capabilities', url: `${HOME}/blob/main/docs/concepts/capabilities.md` },
      { name: 'Verify the signature', url: `${HOME}/blob/main/docs/how-to/install.md#verify-a-release` },
    ]),
    'artifacthub.io/screenshots': yaml([
      { title: 'A machine is lost and replaced', url: `${HOME}/raw/main/docs/media/playground.png` },
      { title: 'Workers follow a load', url: `${HOME}/raw/main/docs/media/autoscaling.png` },
    ]),
    'artifacthub.io/changes': yaml([
      { kind: 'added', description: 'First release: accounts, instances and endpoint groups.' },
    ]),
    'artifacthub.io/crds': yaml(crds),
    'artifacthub.io/crdsExamples': EXAMPLES.map(
      (name) => `-\n${sample(name).replaceAll(/^/gm, '  ')}\n`,
    ).join(''),
  };
}

function chartFile(name: string, description: string): Readonly<Record<string, unknown>> {
  return {
    apiVersion: 'v2',
    name,
    description,
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: KUBERNETES,
    home: HOME,
    icon: `${HOME}/raw/main/docs/icon.svg`,
    sources: [HOME],
    keywords: ['gpu', 'operator', 'marketplace', 'autoscaling'],
    maintainers: [{ name: 'gpu-rental-operator', url: HOME }],
  };
}

export const OPERATOR_CHART = 'gpu-rental-operator';
export const CRD_CHART = 'gpu-rental-operator-crds';

export function operatorChartFile(): string {
  const about =
    'Turns rented GPU machines into Kubernetes objects, and destroys everything on deletion, so that no machine bills without an object.';
  return yaml({ ...chartFile(OPERATOR_CHART, about), annotations: annotations() }, { wrap: false });
}

export function crdChartFile(): string {
  const about = 'CRDs of gpu-rental-operator, and the guard that keeps them while machines are rented.';
  const license = { 'artifacthub.io/license': 'Apache-2.0' };
  return yaml({ ...chartFile(CRD_CHART, about), annotations: license }, { wrap: false });
}
