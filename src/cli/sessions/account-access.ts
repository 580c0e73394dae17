import type { KeyReading } from '../../accounts/api-keys.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { CommandContext, CommandInput } from '../command.ts';
import { CommandError, EXIT, failed } from '../command-error.ts';
import { textOption } from '../option-values.ts';
import type { ClusterSession } from './cluster-session.ts';
import type { SessionTarget } from './marketplace-session.ts';
import { marketplaceUrl } from './marketplace-session.ts';

/**
 * Returns the access to an account's marketplace: with the account's key, or with the caller's if one was given. The
 * caller's key is only sent to URLs that {@link trustedUrl} allows; the account's key goes to the URL of the account.
 * Rejects with a failure if neither key can be used.
 */
export async function accountTarget(
  { kube }: ClusterSession,
  account: MarketplaceAccount,
  { input, context }: { readonly input: CommandInput; readonly context: CommandContext },
): Promise<SessionTarget> {
  const { options } = input;
  if (textOption(options, '--api-key') ?? textOption(options, '--api-key-file'))
    return { baseUrl: trustedUrl(account, { input, context }) };
  const baseUrl =
    textOption(options, '--url') ??
    account.status?.login?.url ??
    account.spec.url ??
    marketplaceUrl(options, context.env);
  const { readKeySecret } = await import('../../accounts/api-keys.ts');
  const { name, key } = account.spec.apiKeySecretRef;
  const namespace = account.metadata.namespace;
  const reading = await readKeySecret(kube, { namespace, name }, key);
  if (reading.type === 'key') return { baseUrl, apiKey: reading.key };
  const { problem, remedy } = keyProblem(reading, { namespace, name, key });
  const message = `The marketplace of gpuacct/${account.metadata.name} cannot be called: ${problem}.`;
  const whole = `${remedy}, or give a key of that login: --api-key-file.`;
  throw reading.type === 'forbidden' ? failed(message, whole) : new UnusableKey(message, whole);
}

/** The Secret of an account has no usable key; the operator cannot use it either. */
export class UnusableKey extends CommandError {
  constructor(message: string, remedy: string) {
    super(message, { exitCode: EXIT.failure, remedy });
    this.name = 'UnusableKey';
  }
}

interface KeyPlace {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly key: string;
}

function keyProblem(
  { type }: Exclude<KeyReading, { type: 'key' }>,
  { namespace, name, key }: KeyPlace,
): { readonly problem: string; readonly remedy: string } {
  const secret = `Secret ${namespace}/${name}`;
  switch (type) {
    case 'secretMissing': {
      const create = `kubectl create secret generic ${name} -n ${namespace} --from-file=${key}=FILE`;
      return { problem: `${secret} does not exist`, remedy: `Create the Secret (${create})` };
    }
    case 'keyMissing':
      return { problem: `${secret} has no key ${key}`, remedy: `Put the API key under ${key} there` };
    case 'invalid':
      return {
        problem: `the key in ${secret} cannot be used`,
        remedy: `Put the API key alone, on one line, under ${key} there`,
      };
    case 'forbidden':
      return { problem: `you may not read ${secret}`, remedy: 'Request permission to get it' };
  }
}

/**
 * Returns the URL that may receive the caller's own key: the one that the caller named, the one where the operator
 * (with its list of allowed marketplaces) verified the login, or the caller's default. Any tenant can write `spec.url`:
 * sending the key there would let the tenant collect it.
 */
function trustedUrl(
  { metadata, spec, status }: MarketplaceAccount,
  { input, context }: { readonly input: CommandInput; readonly context: CommandContext },
): string {
  const own = marketplaceUrl(input.options, context.env);
  const proven = textOption(input.options, '--url') ?? status?.login?.url;
  if (proven !== undefined) return proven;
  if (spec.url === undefined || withoutSlash(spec.url) === withoutSlash(own)) return own;
  throw failed(
    `gpuacct/${metadata.name} names ${spec.url} as its marketplace, no operator has proven a login there, and it is not your own default (${own}): your own key was not sent.`,
    "If you trust that address with your key, name it: --url. Otherwise leave --api-key and --api-key-file out, and the account's own key is used.",
  );
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
