import { clientKeys, clientSecretName } from '../api/v1alpha1/worker-link.ts';
import { Secret } from '../lib/secret.ts';
import type { ObjectRef } from '../runtime/kube/kube-object.ts';
import type { ClientIdentity } from './discovery.ts';
import type { SecretData } from './named-secrets.ts';

/** The Secret that the operator writes for those who call the workers of a group. */
export function clientSecretOf({
  namespace,
  name,
}: {
  readonly namespace: string;
  readonly name: string;
}): ObjectRef {
  return { namespace, name: clientSecretName(name) };
}

/** Undefined where a part is missing. */
export function clientIdentity(data: SecretData): ClientIdentity | undefined {
  const certificate = data.get(clientKeys.certificate);
  const key = data.get(clientKeys.key);
  const authorities = data.get(clientKeys.authorities);
  if (certificate === undefined || key === undefined || authorities === undefined) return undefined;
  return { certificate, key: new Secret(key), authorities };
}
