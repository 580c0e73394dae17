import { type Contender, endpointGroup, fixedSize, queueOnly, utilizationOnly } from './policies.ts';

/** The day that is shown: on none of its loads was anything tuned. */
export const SHOWN_SEED = 7;

/** Contenders: the defaults of an EndpointGroup, and each policy with the settings that `--tune` finds. */
export const CONTENDERS: readonly Contender[] = [
  endpointGroup('EndpointGroup', {}),
  endpointGroup('EndpointGroup, tuned', {
    targetUtilizationPercent: 100,
    coldMultiplier: '2.5',
    coldWorkers: 5,
  }),
  fixedSize(15),
  utilizationOnly(0.85, 20),
  queueOnly(10, 120, 20),
];
