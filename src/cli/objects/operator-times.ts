import type { ConfigMap } from '../../accounts/installation/in-use-record.ts';
import { IN_USE_RECORD } from '../../api/v1alpha1/names.ts';
import { constantsFromData, defaultConstants, type PurchaseConstants } from '../../ownership/constants.ts';
import { configMapResource } from '../../runtime/kube/core-resources.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';

/** The times that a command judges by. */
export interface OperatorTimes {
  readonly constants: PurchaseConstants;
  /** Why they are defaults; undefined if they are those that the operator published. */
  readonly guessed: string | undefined;
}

/** The times that the operator runs with, as it publishes them; its defaults if they cannot be read. */
export async function operatorTimes({ kube, operatorNamespace }: ClusterSession): Promise<OperatorTimes> {
  const place = `ConfigMap ${operatorNamespace}/${IN_USE_RECORD}`;
  const ref = { namespace: operatorNamespace, name: IN_USE_RECORD };
  try {
    const stored = await kube.get<ConfigMap>(configMapResource, ref);
    const constants = constantsFromData(stored?.data ?? {});
    if (constants) return { constants, guessed: undefined };
    return { constants: defaultConstants, guessed: `${place} does not have the operator's times` };
  } catch (error) {
    if (!isKubeError(error, 'forbidden')) throw error;
    return { constants: defaultConstants, guessed: `you may not read ${place}` };
  }
}
