import type { AdvanceStep } from './advance.ts';

/** All that happens by itself, in this order within one instant. */
export const advanceSteps: readonly AdvanceStep[] = [];
