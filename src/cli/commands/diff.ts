import { canonicalJson } from '../../lib/json.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import { type Effects, effectsText } from '../../views/plan.ts';
import { printable } from '../../views/printable.ts';
import type { Paint } from '../../views/table.ts';
import type { Command } from '../command.ts';
import { CommandError, EXIT } from '../command-error.ts';
import { switchOption } from '../option-values.ts';
import { createOutput, createPaint, yamlOf } from '../output/output.ts';
import { askForAll, type Judged, LAST_APPLIED, refuseRefused } from '../plan/dry-run.ts';
import { effectsOf } from '../plan/effects.ts';
import { FILE_OPTION, plannedIn } from '../plan/manifests.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';

/** Shows the changes of a manifest, and their effects on machines. */
export const diffCommand: Command = {
  description:
    'Compares spec, labels and annotations of the object in the cluster with what kubectl apply would make of it: the API server fills in defaults and validates the manifest, and nothing is stored. Effects on machines follow below the difference. Exit code 0, with --exit-code 1 if something differs; exit code 2 if the API server would refuse the manifest.',
  examples: ['gpu-rent diff -f trainer.yaml', 'kustomize build . | gpu-rent diff -f - --exit-code'],
  options: [FILE_OPTION, { flags: '--exit-code', description: 'Exit with code 1 if there are differences.' }],
  optionSets: ['report', 'cluster'],
  async run(input, context) {
    const planned = await plannedIn(input, context);
    const found = await withCluster(input, context, async (cluster) => {
      const judged = await askForAll(cluster, planned);
      refuseRefused(judged);
      return Promise.all(judged.map((each) => differenceOf(cluster, each)));
    });
    const paint = createPaint(input.options, context);
    const texts = await Promise.all(found.map((difference) => differenceText(difference, paint)));
    await createOutput(input, context).value(found, texts.join('\n'));
    const isDifferent = found.some(({ change }) => change !== 'none');
    return isDifferent && switchOption(input.options, '--exit-code') ? EXIT.failure : EXIT.ok;
  },
};

/** Changes of an object by a manifest. */
interface Difference extends Effects {
  readonly object: string;
  readonly namespace: string;
  readonly change: 'created' | 'changed' | 'none';
  /** The part that users write; null if the object does not exist. */
  readonly before: Written | null;
  readonly after: Written;
}

interface Written {
  readonly metadata?: Pick<KubeObject['metadata'], 'labels' | 'annotations'>;
  readonly spec: unknown;
}

async function differenceOf(
  cluster: ClusterSession,
  [{ object, namespace = cluster.namespace }, verdict]: Judged,
): Promise<Difference> {
  if (verdict.type !== 'accepted')
    throw new CommandError(`The API server did not evaluate ${object}: ${verdict.why}`, {
      exitCode: EXIT.failure,
      remedy: 'Without a cluster, gpu-rent plan -f FILE --no-cluster checks the fields alone.',
    });
  const { before, after } = verdict.applied;
  const written = { before: before === undefined ? null : writtenOf(before), after: writtenOf(after) };
  const isSame = canonicalJson(written.before) === canonicalJson(written.after);
  const change = before === undefined ? 'created' : isSame ? 'none' : 'changed';
  return { object, namespace, change, ...(await effectsOf(cluster, verdict.applied)), ...written };
}

/**
 * Returns the part that users write, without annotations of programs; keys are sorted, so that order causes no
 * difference.
 */
function writtenOf({ metadata, spec }: KubeObject & { readonly spec: unknown }): Written {
  const { [LAST_APPLIED]: _, ...annotations } = metadata.annotations ?? {};
  const { labels = {} } = metadata;
  const kept = {
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
  return JSON.parse(
    canonicalJson({ ...(Object.keys(kept).length > 0 && { metadata: kept }), spec }),
  ) as Written;
}

async function differenceText(difference: Difference, paint: Paint): Promise<string> {
  const { object, namespace, change, before, after } = difference;
  const known = effectsText(object, difference);
  if (change === 'none') return `${object} in ${namespace} matches the manifest.\n`;
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import('diff');
  const [from, to] = [before === null ? '' : await yamlOf(before), await yamlOf(after)].map(printable);
  const patch = createTwoFilesPatch(
    `${object} in ${namespace}`,
    `${object} in ${namespace}`,
    from ?? '',
    to ?? '',
    before === null ? 'does not exist' : 'now',
    'with the manifest',
    { context: 3, headerOptions: FILE_HEADERS_ONLY },
  );
  const effects =
    known ??
    `${object} ${change === 'created' ? 'is new: gpu-rent plan -f FILE shows what it would rent' : 'has no machine'}.`;
  return `${patch
    .split('\n')
    .map((line) => painted(line, paint))
    .join('\n')}${effects}\n`;
}

function painted(line: string, paint: Paint): string {
  if (line.startsWith('+')) return paint('green', line);
  if (line.startsWith('-')) return paint('red', line);
  return line.startsWith('@@') ? paint('dim', line) : line;
}
