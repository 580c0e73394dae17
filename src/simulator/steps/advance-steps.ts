import type { AdvanceStep } from './advance.ts';
import { bidPricesStep, outbidStep } from './bids.ts';
import { creditStep } from './credit.ts';
import { deploymentsStep } from './deployments.ts';
import { lostBillingStep } from './lost-billing.ts';
import { outagesStep } from './outages.ts';
import { priceIncreasesStep } from './price-increases.ts';
import { quietScalingStep, scalingStep } from './scaling.ts';
import { transitionsStep } from './transitions.ts';

/** All that happens by itself, in this order within one instant. */
export const advanceSteps: readonly AdvanceStep[] = [
  transitionsStep,
  outagesStep,
  priceIncreasesStep,
  bidPricesStep,
  outbidStep,
  lostBillingStep,
  creditStep,
  deploymentsStep,
  scalingStep,
  quietScalingStep,
];
