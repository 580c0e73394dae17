import type { SecretObject } from '../../accounts/api-keys.ts';
import { readKubeSystemUid } from '../../accounts/installation/installation.ts';
import { systemRandom } from '../../lib/random.ts';
import { IDENTITY_SECRET, identityToData, newIdentity, scopeOf } from '../../ownership/identity.ts';
import { secretResource } from '../../runtime/kube/core-resources.ts';
import type { Command, CommandInput } from '../command.ts';
import { failed } from '../command-error.ts';
import { type IdentityReading, readIdentity } from '../objects/identity-secret.ts';
import { listOption, switchOption } from '../option-values.ts';
import { createOutput } from '../output/output.ts';
import { confirmed, YES } from '../secrets/prompt.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';

/** Creates a new identity for an installation that lost its own, after confirmation. */
export const resetIdentity: Command = {
  description:
    'The last resort after IdentityInvalid, when no backup of the Secret is left. Afterwards the operator does not own machines that were labelled before: they bill until you destroy them yourself. Check first: gpu-rent list instances. An existing Secret is replaced in one write, and needs the rights to get and update it.',
  examples: ['gpu-rent reset identity', 'gpu-rent reset identity --yes'],
  options: [
    YES,
    {
      flags: '--watch-namespace <name>',
      description: 'A namespace that the operator watches, if it does not watch all; repeatable.',
      repeatable: true,
    },
    { flags: '--force', description: 'Replace an identity that exists and can be read.' },
  ],
  optionSets: ['output', 'cluster'],
  async run(input, context) {
    await confirmed(
      'Create a new identity? The operator then ignores all machines labelled before.',
      input,
      context,
    );
    const place = await withCluster(input, context, (cluster) => drawAgain(cluster, input));
    const text = `Secret ${place} contains a new identity. Restart the operator: kubectl rollout restart deployment -n ${place.split('/')[0]}`;
    await createOutput(input, context).value({ secret: place }, text);
    return 0;
  },
};

/**
 * Stores a new identity in one write, so that a failed write changes nothing. An existing Secret is replaced under the
 * version that was read, and one created meanwhile is not overwritten. Resolves to the name of the Secret.
 */
async function drawAgain(cluster: ClusterSession, { options }: CommandInput): Promise<string> {
  const stored = replaceable(await readIdentity(cluster), switchOption(options, '--force'));
  const { kube, operatorNamespace: namespace } = cluster;
  const place = {
    kubeSystemUid: await readKubeSystemUid(kube),
    scope: scopeOf(listOption(options, '--watch-namespace')),
  };
  const identity = newIdentity({ id: systemRandom.bytes(16), key: systemRandom.bytes(32) }, place);
  const secret: SecretObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...stored?.metadata, name: IDENTITY_SECRET, namespace },
    type: stored?.type ?? 'Opaque',
    stringData: identityToData(identity),
  };
  const write = stored ? kube.replace : kube.create;
  await write(secretResource, secret, { fieldManager: 'gpu-rent' });
  return `${namespace}/${IDENTITY_SECRET}`;
}

/**
 * Returns the Secret that a new identity may replace; undefined if there is none. Throws if it must not be replaced.
 */
function replaceable(reading: IdentityReading, force: boolean): SecretObject | undefined {
  switch (reading.type) {
    case 'missing':
      return undefined;
    case 'unreadable':
      return reading.stored;
    case 'identity':
      if (force) return reading.stored;
      throw failed('The identity exists and can be read: nothing was changed.', 'Use --force to replace it.');
    case 'forbidden':
      throw failed(
        `You may not read the Secret ${reading.place}, so it may hold a healthy identity: nothing was changed.`,
        `Request permission to get, create and update secrets in namespace ${reading.place.split('/')[0]}.`,
      );
  }
}
