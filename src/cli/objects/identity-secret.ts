import type { SecretObject } from '../../accounts/api-keys.ts';
import type { Identity } from '../../ownership/identity.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import { failed } from '../command-error.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';

/** Result of reading the identity of the installation. */
export type IdentityReading =
  | { readonly type: 'identity'; readonly identity: Identity; readonly stored: SecretObject }
  | { readonly type: 'unreadable'; readonly place: string; readonly stored: SecretObject }
  | { readonly type: 'missing' | 'forbidden'; readonly place: string };

/** Reads the Secret with the operator's signing keys. Rejects with a KubeError other than `forbidden`. */
export async function readIdentity({ kube, operatorNamespace }: ClusterSession): Promise<IdentityReading> {
  const [{ IDENTITY_SECRET, identityFromData }, { secretResource }] = await Promise.all([
    import('../../ownership/identity.ts'),
    import('../../runtime/kube/core-resources.ts'),
  ]);
  const place = `${operatorNamespace}/${IDENTITY_SECRET}`;
  try {
    const ref = { namespace: operatorNamespace, name: IDENTITY_SECRET };
    const stored = await kube.get<SecretObject>(secretResource, ref);
    if (!stored) return { type: 'missing', place };
    const identity = identityFromData(
      Object.fromEntries(
        Object.entries(stored.data ?? {}).map(([name, value]) => [
          name,
          Buffer.from(value, 'base64').toString('utf8'),
        ]),
      ),
    );
    return identity ? { type: 'identity', identity, stored } : { type: 'unreadable', place, stored };
  } catch (error) {
    if (isKubeError(error, 'forbidden')) return { type: 'forbidden', place };
    throw error;
  }
}

/** Returns the identity. Rejects with a failure that names the problem if the Secret cannot be read or used. */
export async function requireIdentity(cluster: ClusterSession): Promise<Identity> {
  const reading = await readIdentity(cluster);
  switch (reading.type) {
    case 'identity':
      return reading.identity;
    case 'forbidden':
      throw failed(
        `You may not read the Secret ${reading.place}, which proves the owner of a machine.`,
        'Request permission to get it, or see gpu-rent status.',
      );
    case 'missing':
    case 'unreadable':
      throw failed(
        `The Secret ${reading.place} is ${reading.type}: the owner of a machine cannot be proven.`,
        'Check --operator-namespace; run gpu-rent doctor for details.',
      );
  }
}
