import { type Contender, endpointGroup, fixedSize, queueOnly, utilizationOnly } from './policies.ts';

/** The day that is shown: on none of its loads was anything tuned. */
export const SHOWN_SEED = 7;

/** What is compared: our defaults, and each policy with the settings that `--tune` finds. */
export const CONTENDERS: readonly Contender[] = [
  endpointGroup('EndpointGroup', {}),
  endpointGroup('EndpointGroup, tuned', {
    targetUtilizationPercent: 95,
    coldMultiplier: '2',
    coldWorkers: 0,
  }),
  fixedSize(16),
  utilizationOnly(0.9, 20),
  queueOnly(10, 120, 20),
];
