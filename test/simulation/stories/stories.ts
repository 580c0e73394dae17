import { ACCESS_STORIES } from './access-stories.ts';
import { ACCOUNT_STORIES } from './account-stories.ts';
import { BELIEF_STORIES } from './belief-stories.ts';
import { BROKEN_STORIES } from './broken-stories.ts';
import { CLOCK_STORIES } from './clock-stories.ts';
import { CONTRADICTED_STORIES } from './contradicted-stories.ts';
import { EDIT_STORIES } from './edit-stories.ts';
import { FOUND_STORIES } from './found-stories.ts';
import { FUSE_STORIES } from './fuse-stories.ts';
import { GONE_STORIES } from './gone-stories.ts';
import { GROUP_STORIES } from './group-stories.ts';
import { IDLE_STORIES } from './idle-stories.ts';
import { ISOLATION_STORIES } from './isolation-stories.ts';
import { KEPT_STORIES } from './kept-stories.ts';
import { OUTAGE_STORIES } from './outage-stories.ts';
import { OWNERSHIP_STORIES } from './ownership-stories.ts';
import { PREFLIGHT_STORIES } from './preflight-stories.ts';
import { PURCHASE_STORIES } from './purchase-stories.ts';
import { QUEUE_STORIES } from './queue-stories.ts';
import { RECORD_STORIES } from './record-stories.ts';
import { REFUSAL_STORIES } from './refusal-stories.ts';
import { RESTRAINT_STORIES } from './restraint-stories.ts';
import { RUN_STORIES } from './run-stories.ts';
import { SERVICE_STORIES } from './service-stories.ts';
import type { Story } from './story.ts';
import { SUM_STORIES } from './sum-stories.ts';
import { TEARDOWN_STORIES } from './teardown-stories.ts';
import { TENANT_STORIES } from './tenant-stories.ts';
import { VANISHED_STORIES } from './vanished-stories.ts';

/** Every story. */
export const STORIES: readonly Story[] = [
  ...BROKEN_STORIES,
  ...PURCHASE_STORIES,
  ...PREFLIGHT_STORIES,
  ...GONE_STORIES,
  ...TEARDOWN_STORIES,
  ...OWNERSHIP_STORIES,
  ...GROUP_STORIES,
  ...ACCOUNT_STORIES,
  ...RECORD_STORIES,
  ...REFUSAL_STORIES,
  ...CLOCK_STORIES,
  ...VANISHED_STORIES,
  ...FOUND_STORIES,
  ...FUSE_STORIES,
  ...QUEUE_STORIES,
  ...RESTRAINT_STORIES,
  ...EDIT_STORIES,
  ...ACCESS_STORIES,
  ...ISOLATION_STORIES,
  ...OUTAGE_STORIES,
  ...TENANT_STORIES,
  ...SUM_STORIES,
  ...BELIEF_STORIES,
  ...CONTRADICTED_STORIES,
  ...KEPT_STORIES,
  ...IDLE_STORIES,
  ...SERVICE_STORIES,
  ...RUN_STORIES,
];
