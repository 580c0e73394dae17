import type { AdvanceStep } from './advance.ts';
import { bidPricesStep, outbidStep } from './steps/bids.ts';
import { creditStep } from './steps/credit.ts';
import { deploymentsStep } from './steps/deployments.ts';
import { lostBillingStep } from './steps/lost-billing.ts';
import { outagesStep } from './steps/outages.ts';
import { priceIncreasesStep } from './steps/price-increases.ts';
import { scalingStep } from './steps/scaling.ts';
import { transitionsStep } from './steps/transitions.ts';

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
];
