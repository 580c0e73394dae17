import type { InformerHealth } from '../runtime/list-watch/informer.ts';

/** List-watch that is silent for longer is broken: bookmarks come every minute. */
const SILENCE_MS = 10 * 60_000;
/** A replica of the API server may lag for seconds; whoever still tells an older state after this was put back to it. */
const REWOUND_MS = 2 * 60_000;

/** What is wrong with a copy so that only a restart would mend it; undefined where waiting may. */
export function watchProblem(
  { lastContactAt, failure, rewoundSince }: Omit<InformerHealth, 'divergences'>,
  now: number,
): string | undefined {
  if (rewoundSince !== undefined && now - rewoundSince >= REWOUND_MS)
    return 'the API server has told an older state than was seen for two minutes: it was restored from a backup';
  const silentMs = lastContactAt === undefined ? 0 : now - lastContactAt;
  if (silentMs < SILENCE_MS || failure !== undefined) return undefined;
  return `the API server has said nothing for ${Math.round(silentMs / 1000)} s`;
}
