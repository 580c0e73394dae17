import type { Outcome } from '../../src/cli/replay/outcome.ts';
import { replayTicks, type WhatIf } from '../../src/cli/replay/replay.ts';

/** The whole replay at once. */
export function replay(whatIf: WhatIf): Outcome {
  const ticks = replayTicks(whatIf);
  let step = ticks.next();
  while (!step.done) step = ticks.next();
  return step.value;
}
