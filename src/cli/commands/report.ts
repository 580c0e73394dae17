import packageJson from '../../../package.json' with { type: 'json' };
import {
  endpointGroupResource,
  GROUP,
  gpuInstanceResource,
  marketplaceAccountResource,
  spendBudgetResource,
} from '../../api/v1alpha1/names.ts';
import { counted } from '../../lib/plural.ts';
import type { KubeObject, Resource } from '../../runtime/kube/kube-object.ts';
import type { Command } from '../command.ts';
import { usageError } from '../command-error.ts';
import { runChecks } from '../doctor/check.ts';
import { describeFailure } from '../failures/describe-failure.ts';
import { textOption } from '../option-values.ts';
import { createOutput, createProgress, yamlOf } from '../output/output.ts';
import { type BundleFile, writeBundle } from '../report/report-bundle.ts';
import { redactObject } from '../report/report-redaction.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';

/** Objects in a report, in addition to the doctor's lines. Never a Secret. */
const KINDS: readonly (Resource & { readonly folder: string })[] = [
  { ...marketplaceAccountResource, folder: 'marketplaceaccounts' },
  { ...gpuInstanceResource, folder: 'gpuinstances' },
  { ...endpointGroupResource, folder: 'endpointgroups' },
  { ...spendBudgetResource, folder: 'spendbudgets' },
  {
    group: 'events.k8s.io',
    version: 'v1',
    plural: 'events',
    kind: 'Event',
    namespaced: true,
    folder: 'events',
  },
  {
    group: 'apps',
    version: 'v1',
    plural: 'deployments',
    kind: 'Deployment',
    namespaced: true,
    folder: 'operator',
  },
  { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true, folder: 'operator' },
  {
    group: 'coordination.k8s.io',
    version: 'v1',
    plural: 'leases',
    kind: 'Lease',
    namespaced: true,
    folder: 'operator',
  },
];

/** Collects the data that a supporter needs, without secrets. */
export const reportCommand: Command = {
  description:
    'Values of env, start-up scripts, annotations that may hold values, queries of paths, and everything under a secret name are replaced; Secrets are never read. Review the report before you share it.',
  examples: [
    'gpu-rent report',
    'gpu-rent report -n team --to report.tar.gz',
    'gpu-rent report -A --to ./report',
  ],
  options: [
    {
      flags: '--to <path>',
      description: 'A folder, or a file that ends in .tar.gz. Default: gpu-rent-report-<time>.tar.gz.',
    },
  ],
  optionSets: ['report', 'cluster'],
  async run(input, context) {
    const now = Date.now();
    const stamp = new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
    const path = textOption(input.options, '--to') ?? `gpu-rent-report-${stamp}.tar.gz`;
    if (path.endsWith('.zip'))
      throw usageError('--to: zip is not written.', 'Name a folder, or a file that ends in .tar.gz.');
    const progress = createProgress(context);
    const files = await withCluster(input, context, (cluster) =>
      collect(cluster, (text) => progress.show(text)),
    ).finally(() => progress.clear());
    await writeBundle(path, files, now);
    await createOutput(input, context).value(
      { path, files: files.map((file) => file.path) },
      `${counted(files.length, 'file')} in ${path}. Secrets are left out; review it before you share it.`,
    );
    return 0;
  },
};

async function collect(
  cluster: ClusterSession,
  show: (text: string) => void,
): Promise<readonly BundleFile[]> {
  const { clusterChecks } = await import('../doctor/cluster-checks.ts');
  show('Running the checks …');
  const lines = await runChecks(clusterChecks(cluster), () => {});
  const files: BundleFile[] = [
    {
      path: 'version.yaml',
      text: await yamlOf({ version: packageJson.version, node: process.version, platform: process.platform }),
    },
    { path: 'doctor.yaml', text: await yamlOf(lines) },
  ];
  for (const { folder, ...resource } of KINDS) {
    show(`Reading ${resource.plural} …`);
    const namespace = folder === 'operator' ? cluster.operatorNamespace : cluster.scope;
    files.push(...(await filesOf(cluster, { resource, folder, namespace })));
  }
  return files;
}

async function filesOf(
  { kube }: ClusterSession,
  { resource, folder, namespace }: { resource: Resource; folder: string; namespace: string | undefined },
): Promise<readonly BundleFile[]> {
  try {
    const { items } = await kube.list<KubeObject>(resource, { namespace });
    const kept = resource.plural === 'events' ? items.filter(isOperatorEvent) : items;
    return await Promise.all(
      kept.map(async (object) => ({
        path: `${folder}/${object.metadata.namespace ?? ''}/${resource.kind}-${object.metadata.name}.yaml`,
        text: await yamlOf(redactObject({ ...object, kind: resource.kind })),
      })),
    );
  } catch (error) {
    return [
      {
        path: `${folder}/${resource.plural}-not-read.txt`,
        text: `${describeFailure(error).lines.join('\n')}\n`,
      },
    ];
  }
}

function isOperatorEvent(event: KubeObject): boolean {
  const regarding = 'regarding' in event ? event.regarding : undefined;
  const kind =
    typeof regarding === 'object' && regarding !== null && 'kind' in regarding ? regarding.kind : undefined;
  return KINDS.some((own) => own.group === GROUP && own.kind === kind);
}
