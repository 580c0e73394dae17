import { monthName } from '../../instance/cost.ts';
import type { LedgerData } from '../../ledger/codec.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { LEDGER_NAMES } from '../../ledger/names.ts';
import { readLedger } from '../../ledger/storage.ts';
import { configMapResource } from '../../runtime/kube/core-resources.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import { failed } from '../command-error.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';

/** Reads the ledger of the operator at `now` (epoch milliseconds). Rejects if the caller may not read its ConfigMaps, else with the KubeError. */
export async function ledgerOf(
  { kube, operatorNamespace: namespace }: ClusterSession,
  now: number,
): Promise<Ledger> {
  try {
    const found = await Promise.all(
      LEDGER_NAMES.map((name) =>
        kube.get<KubeObject & { data?: LedgerData }>(configMapResource, { namespace, name }),
      ),
    );
    return readLedger(
      new Map(found.flatMap((map) => (map ? [[map.metadata.name, map.data ?? {}] as const] : []))),
      monthName(now),
    );
  } catch (error) {
    if (!isKubeError(error, 'forbidden')) throw error;
    throw failed(
      `You may not read the ledger: ConfigMaps gpurental-ledger-* in namespace ${namespace}.`,
      'gpu-rent cost without --since and --by shows the objects that exist. docs/how-to/cost-per-team.md has a Role.',
    );
  }
}
