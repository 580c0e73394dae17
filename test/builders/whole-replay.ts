import { replayTicks, type WhatIf } from '../../src/replay/replay.ts';
import type { Outcome } from '../../src/views/replay.ts';

/** Replays a whole trace at once. */
export function replay(whatIf: WhatIf): Outcome {
  const ticks = replayTicks(whatIf);
  for (let step = ticks.next(); ; step = ticks.next()) if (step.done) return step.value;
}
