import { ACCOUNT } from './catalog/account.ts';
import { CLUSTER } from './catalog/cluster.ts';
import { ENDPOINTS } from './catalog/endpoints.ts';
import { MACHINES } from './catalog/machines.ts';
import { TFA } from './catalog/tfa.ts';
import { TOOLS } from './catalog/tools.ts';
import { VOLUMES } from './catalog/volumes.ts';
import type { CatalogGroup } from './catalog-entry.ts';

/** Every command, under the headings and in the order in which help shows them. */
export const catalog: readonly CatalogGroup[] = [CLUSTER, MACHINES, ENDPOINTS, VOLUMES, ACCOUNT, TFA, TOOLS];
