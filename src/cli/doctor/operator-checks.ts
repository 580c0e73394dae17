import { OPERATOR_NAME } from '../../api/v1alpha1/names.ts';
import { leaseResource } from '../../runtime/kube/core-resources.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import { readIdentity } from '../objects/identity-secret.ts';
import { ageText, counted } from '../output/amounts.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import { type Check, type Finding, ok, skipped, warning, wrong } from './check.ts';

/** Whether an operator leads, and whether it knows who it is. */
export function operatorChecks(cluster: ClusterSession): readonly Check[] {
  return [
    { area: 'operator', name: 'lease', look: () => lease(cluster) },
    { area: 'operator', name: 'identity', look: () => identity(cluster) },
  ];
}

interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly renewTime?: string;
    readonly leaseDurationSeconds?: number;
  };
}

async function lease({ kube, operatorNamespace: namespace }: ClusterSession): Promise<Finding> {
  const pods = `Look at it: kubectl get pods -n ${namespace}; kubectl logs -n ${namespace} deploy/${OPERATOR_NAME}.`;
  try {
    const found = await kube.get<Lease>(leaseResource, { namespace, name: OPERATOR_NAME });
    if (!found)
      return wrong(
        `No operator has ever led in ${namespace}.`,
        `Install it, or name its namespace (--operator-namespace). ${pods}`,
      );
    const { holderIdentity, renewTime = '', leaseDurationSeconds = 15 } = found.spec ?? {};
    const age = Date.now() - Date.parse(renewTime);
    if (!holderIdentity) return wrong('Nobody leads: the last operator gave the lease back.', pods);
    if (Number.isNaN(age) || age > leaseDurationSeconds * 2000) {
      return wrong(`${holderIdentity} has not renewed the lease for ${ageText(age)}.`, pods);
    }
    return ok(`${holderIdentity} leads, renewed ${ageText(age)} ago`);
  } catch (error) {
    if (!isKubeError(error, 'forbidden')) throw error;
    return skipped(`You may not read leases in ${namespace}.`, 'Ask for the right to get it.');
  }
}

async function identity(cluster: ClusterSession): Promise<Finding> {
  const reading = await readIdentity(cluster);
  switch (reading.type) {
    case 'identity':
      return ok(
        `installation ${reading.identity.installId8}, ${counted(reading.identity.keys.length, 'key')}`,
      );
    case 'forbidden':
      return skipped(`You may not read Secret ${reading.place}.`, 'Ask for the right to get it.');
    case 'missing':
      return warning(
        `Secret ${reading.place} is not there yet.`,
        'The operator makes it at its first start; after a loss restore it from a backup.',
      );
    case 'unreadable':
      return wrong(
        `Secret ${reading.place} holds no identity.`,
        'Restore it from a backup; the last resort is gpu-rent reset identity.',
      );
  }
}
