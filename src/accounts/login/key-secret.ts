import { ownValue } from '../../lib/canonical-json.ts';
import { Secret } from '../../lib/secret.ts';
import { secretResource } from '../../runtime/kube/core-resources.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject, ObjectRef } from '../../runtime/kube/kube-object.ts';
import { guardedSecret } from '../guarded-secrets.ts';

/** A Secret as the API server gives it. */
export interface SecretObject extends KubeObject {
  readonly type?: string;
  /** base64. */
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
}

/** What the Secret that an account names turned out to hold. */
export type KeyReading =
  | { readonly type: 'key'; readonly key: Secret }
  | { readonly type: 'secretMissing'; readonly secret: string }
  | {
      readonly type: 'keyMissing';
      readonly secret: string;
      readonly key: string;
      readonly present: readonly string[];
    }
  | { readonly type: 'invalid'; readonly secret: string; readonly key: string; readonly problem: string }
  | { readonly type: 'forbidden'; readonly secret: string };

/**
 * Reads the key of an account, in that very namespace: it is sent to the marketplace, so a Secret that is kept by the
 * operator, opens Kubernetes or holds a machine's credentials is invalid. Failures that say nothing about the Secret (the API
 * server is away) are thrown.
 */
export async function readKeySecret(
  client: KubeClient,
  ref: ObjectRef,
  keyName: string,
): Promise<KeyReading> {
  try {
    const secret = await client.get<SecretObject>(secretResource, ref);
    const guarded = guardedSecret({ name: ref.name, key: keyName }, secret);
    if (guarded !== undefined)
      return { type: 'invalid', secret: ref.name, key: keyName, problem: `it ${guarded}` };
    return keyOf(secret, ref.name, keyName);
  } catch (error) {
    if (isKubeError(error, 'forbidden')) return { type: 'forbidden', secret: ref.name };
    throw error;
  }
}

/** The key in a Secret's data. White space around it (a final newline) is not part of it. */
export function keyOf(secret: SecretObject | undefined, name: string, keyName: string): KeyReading {
  if (!secret) return { type: 'secretMissing', secret: name };
  const encoded = ownValue(secret.data, keyName);
  if (encoded === undefined) {
    return { type: 'keyMissing', secret: name, key: keyName, present: Object.keys(secret.data ?? {}).sort() };
  }
  const text = Buffer.from(encoded, 'base64').toString('utf8').trim();
  const problem = problemOf(text);
  if (problem !== undefined) return { type: 'invalid', secret: name, key: keyName, problem };
  return { type: 'key', key: new Secret(text) };
}

const LONGEST_KEY = 4096;

function problemOf(text: string): string | undefined {
  if (text === '') return 'it is empty';
  if (text.length > LONGEST_KEY) return `it is longer than ${LONGEST_KEY} characters`;
  if (!/^[\x21-\x7e]+$/.test(text)) return 'it contains spaces, line breaks or characters outside ASCII';
  return undefined;
}
