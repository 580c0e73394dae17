import type { Stage } from './stage.ts';
import type { Story } from './story.ts';

/** By then every machine of a fleet runs: searches and rentals are spaced. */
const START = 400;

/** The hosts of all machines fall silent for that long. */
function outage(stage: Stage, seconds: number): void {
  stage.befall({ name: 'mass-outage', seconds });
}

/** No machine is destroyed in between: an outage from which they recover costs none. */
function noneDestroyed(stage: Stage, from: number, until: number): void {
  stage.at(from, () => stage.forbid({ call: 'destroy', seconds: until - from, why: 'all machines recover' }));
}

const SURVIVED: readonly { readonly fleet: number; readonly seconds: number }[] = [
  { fleet: 1, seconds: 90 },
  { fleet: 1, seconds: 1500 },
  { fleet: 3, seconds: 90 },
  { fleet: 12, seconds: 30 },
  { fleet: 12, seconds: 55 },
  { fleet: 12, seconds: 70 },
  { fleet: 20, seconds: 62 },
  { fleet: 20, seconds: 300 },
  { fleet: 20, seconds: 1500 },
];

/** Many machines that fail together, and come back or do not. */
export const OUTAGE_STORIES: readonly Story[] = [
  ...SURVIVED.map(
    ({ fleet, seconds }): Story => ({
      name: `the hosts of ${fleet} machines fall silent for ${seconds} s, and all come back (C2, H1)`,
      fleet,
      seconds: START + seconds + 200,
      plot: (stage) => {
        stage.at(START, () => outage(stage, seconds));
        noneDestroyed(stage, START, START + seconds + 200);
      },
    }),
  ),
];
