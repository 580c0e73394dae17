import type { AdvanceStep } from './advance.ts';
import { creditStep, lostBillingStep, priceIncreasesStep } from './billing.ts';
import { bidPricesStep, outagesStep, outbidStep, transitionsStep } from './machines.ts';
import { deploymentsStep, quietScalingStep, scalingStep } from './scaling.ts';

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
