import { ACCESS_MUTANTS } from './access-mutants.ts';
import { ACCOUNT_MUTANTS } from './account-mutants.ts';
import { BROKEN_MUTANTS } from './broken-mutants.ts';
import { DRIFT_MUTANTS } from './drift-mutants.ts';
import { FUSE_MUTANTS } from './fuse-mutants.ts';
import { GATEWAY_MUTANTS } from './gateway-mutants.ts';
import { GONE_MUTANTS } from './gone-mutants.ts';
import { GROUP_MUTANTS } from './group-mutants.ts';
import { IDLE_MUTANTS } from './idle-mutants.ts';
import { ISOLATION_MUTANTS } from './isolation-mutants.ts';
import { LEDGER_MUTANTS } from './ledger-mutants.ts';
import { MARKET_MUTANTS } from './market-mutants.ts';
import type { Mutant } from './mutant.ts';
import { OUTAGE_MUTANTS } from './outage-mutants.ts';
import { OUTSIDE_MUTANTS } from './outside-mutants.ts';
import { OUTSIDER_MUTANTS } from './outsider-mutants.ts';
import { OWNERSHIP_MUTANTS } from './ownership-mutants.ts';
import { PURCHASE_MUTANTS } from './purchase-mutants.ts';
import { QUEUE_MUTANTS } from './queue-mutants.ts';
import { RESTRAINT_MUTANTS } from './restraint-mutants.ts';
import { RUN_MUTANTS } from './run-mutants.ts';
import { SETTLING_MUTANTS } from './settling-mutants.ts';
import { SUM_MUTANTS } from './sum-mutants.ts';
import { TEARDOWN_MUTANTS } from './teardown-mutants.ts';
import { TENANT_MUTANTS } from './tenant-mutants.ts';

/** Every mutant; each has to be found by the simulation or by the unit tables. */
export const MUTANTS: readonly Mutant[] = [
  ...PURCHASE_MUTANTS,
  ...SETTLING_MUTANTS,
  ...GONE_MUTANTS,
  ...DRIFT_MUTANTS,
  ...TEARDOWN_MUTANTS,
  ...OWNERSHIP_MUTANTS,
  ...GROUP_MUTANTS,
  ...ACCOUNT_MUTANTS,
  ...ACCESS_MUTANTS,
  ...OUTSIDE_MUTANTS,
  ...RESTRAINT_MUTANTS,
  ...QUEUE_MUTANTS,
  ...GATEWAY_MUTANTS,
  ...ISOLATION_MUTANTS,
  ...OUTAGE_MUTANTS,
  ...TENANT_MUTANTS,
  ...BROKEN_MUTANTS,
  ...SUM_MUTANTS,
  ...OUTSIDER_MUTANTS,
  ...MARKET_MUTANTS,
  ...FUSE_MUTANTS,
  ...IDLE_MUTANTS,
  ...LEDGER_MUTANTS,
  ...RUN_MUTANTS,
];
