import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { LOG_KEY, LOG_SECRET_TYPE, logSecretName } from '../../api/v1alpha1/names.ts';
import { secretResource } from '../../runtime/kube/core-resources.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import { failed } from '../command-error.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';

interface LogSecret extends KubeObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}

/** Twice the maximum of `completion.logBytes`. */
const MAX_BYTES = 524_288;

/**
 * Returns the log that the operator kept of a finished run, read with the caller's own permissions; undefined if
 * there is none. Rejects with the missing right, or with a KubeError.
 */
export async function keptLog(
  { kube, namespace }: Pick<ClusterSession, 'kube' | 'namespace'>,
  objectName: string,
): Promise<string | undefined> {
  const name = logSecretName(objectName);
  let secret: LogSecret | undefined;
  try {
    secret = await kube.get<LogSecret>(secretResource, { namespace, name });
  } catch (error) {
    if (!isKubeError(error, 'forbidden')) throw error;
    throw failed(
      `gpui/${objectName} has finished; its log is in Secret ${name}, which you may not read.`,
      `Ask for the right to get Secret ${name} in namespace ${namespace}. gpu-rent status gpui/${objectName} shows the last lines.`,
    );
  }
  const packed = secret?.type === LOG_SECRET_TYPE ? secret.data?.[LOG_KEY] : undefined;
  if (packed === undefined) return undefined;
  const unpacked = await promisify(gunzip)(Buffer.from(packed, 'base64'), {
    maxOutputLength: MAX_BYTES,
  }).catch((cause: unknown) => {
    throw failed(`Secret ${name} holds no log that can be unpacked.`, undefined, cause);
  });
  return unpacked.toString('utf8');
}

/** Returns the line that names the source of a kept log. */
export function keptLogNote(objectName: string): string {
  return `gpui/${objectName} has finished. This is its log from Secret ${logSecretName(objectName)}, read with your own permissions.\n`;
}
