import { systemRandom } from '../../lib/random.ts';
import { IDENTITY_SECRET, identityToData, newIdentity, scopeOf } from '../../ownership/identity.ts';
import { secretResource } from '../../runtime/kube/core-resources.ts';
import type { Command } from '../command.ts';
import { failed, usageError } from '../failures/command-error.ts';
import { listOption, switchOption } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withCluster } from '../sessions/cluster-session.ts';

/** Gives an installation whose identity is lost a new one, knowingly. */
export const resetIdentity: Command = {
  name: 'reset identity',
  summary: 'Give an installation whose identity is lost a new one.',
  description:
    'The last resort after IdentityLost, when no backup of the Secret is left. Machines that were labelled before are strangers from then on: they bill until you destroy them yourself. Look first: gpu-rent list instances.',
  examples: ['gpu-rent reset identity --confirm'],
  options: [
    { flags: '--confirm', description: 'I know that machines labelled before are never touched again.' },
    {
      flags: '--watch-namespace <name>',
      description: 'What the operator watches, where that is not every namespace; repeatable.',
      repeatable: true,
    },
    { flags: '--force', description: 'Also where an identity is there and can be read.' },
  ],
  optionSets: ['output', 'cluster'],
  async run(input, context) {
    if (!switchOption(input.options, '--confirm')) {
      throw usageError(
        'Machines labelled before would never be touched again.',
        'Read --help, then add --confirm.',
      );
    }
    const place = await withCluster(input, context, async (cluster) => {
      const { readIdentity } = await import('../objects/identity-secret.ts');
      const reading = await readIdentity(cluster);
      if (reading.type === 'identity' && !switchOption(input.options, '--force')) {
        throw failed(
          'The identity is there and can be read: nothing was changed.',
          'Add --force if you mean it.',
        );
      }
      const { kube, operatorNamespace: namespace } = cluster;
      const system = await kube.get(NAMESPACES, { name: 'kube-system' }).catch(() => undefined);
      const scope = scopeOf(listOption(input.options, '--watch-namespace'));
      const bytes = { id: systemRandom.bytes(16), key: systemRandom.bytes(32) };
      const identity = newIdentity(bytes, { kubeSystemUid: system?.metadata.uid, scope });
      const metadata = { name: IDENTITY_SECRET, namespace };
      await kube.delete(secretResource, metadata);
      const secret = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata,
        type: 'Opaque',
        stringData: identityToData(identity),
      };
      await kube.create(secretResource, secret, { fieldManager: 'gpu-rent' });
      return `${namespace}/${IDENTITY_SECRET}`;
    });
    const text = `Secret ${place} holds a new identity. Restart the operator: kubectl rollout restart deployment -n ${place.split('/')[0]}`;
    await createOutput(input, context).value({ secret: place }, text);
    return 0;
  },
};

const NAMESPACES = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
} as const;
