import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { CommandContext, CommandInput } from '../command.ts';
import { failed } from '../failures/command-error.ts';
import { textOption } from '../options/option-values.ts';
import type { ClusterSession } from './cluster-session.ts';
import type { SessionTarget } from './marketplace-session.ts';
import { marketplaceUrl } from './marketplace-session.ts';

/** How the marketplace of an account is reached: by its own key, or by the caller's where that was given. */
export async function accountTarget(
  { kube }: ClusterSession,
  account: MarketplaceAccount,
  { input, context }: { readonly input: CommandInput; readonly context: CommandContext },
): Promise<SessionTarget> {
  const { options } = input;
  const baseUrl =
    textOption(options, '--url') ??
    account.status?.login?.url ??
    account.spec.url ??
    marketplaceUrl(options, context.env);
  if (textOption(options, '--api-key') ?? textOption(options, '--api-key-file')) return { baseUrl };
  const { readKeySecret } = await import('../../accounts/login/key-secret.ts');
  const { name, key } = account.spec.apiKeySecretRef;
  const namespace = account.metadata.namespace;
  const reading = await readKeySecret(kube, { namespace, name }, key);
  if (reading.type === 'key') return { baseUrl, apiKey: reading.key };
  const problem = {
    secretMissing: `Secret ${namespace}/${name} does not exist`,
    keyMissing: `Secret ${namespace}/${name} has no key ${key}`,
    invalid: `the key in Secret ${namespace}/${name} cannot be used`,
    forbidden: `you may not read Secret ${namespace}/${name}`,
  }[reading.type];
  throw failed(
    `The marketplace of gpuacct/${account.metadata.name} cannot be asked: ${problem}.`,
    'Ask for the right to get it, or give a key of that login: --api-key-file.',
  );
}
