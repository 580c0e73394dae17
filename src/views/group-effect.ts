import * as z from 'zod';
import { ONCE_RENTABLE } from '../instance/replacement-text.ts';
import { agreeing } from '../lib/plural.ts';

export const groupEffectSchema = z.strictObject({
  workers: z.number().describe('Workers that it has now.'),
  outdated: z.array(z.string()).readonly().describe('Workers whose machine does not fit the new template.'),
  effect: z.enum(['keeps', 'replaces']).describe('Effect on the outdated workers.'),
  updated: z.number().describe('Workers that adopt the new template and keep their machine.'),
  atATime: z.number().optional().describe('Hot workers that may be out of service at a time.'),
  scaling: z.array(z.string()).readonly().describe('Changes of the number of workers: `replicas 2 → 5`.'),
  detail: z.string().optional(),
});

/** Effect of a manifest on the workers that its EndpointGroup has. */
export type GroupEffect = z.infer<typeof groupEffectSchema>;

/**
 * Returns
 * `replaces 3 of 4 workers, at most 1 at a time (disks lost), each once another machine can be rented; updates 1 in place; replicas 2 → 5.`
 */
export function groupEffectText(group: GroupEffect): string {
  const { workers, outdated, effect, updated, atATime, scaling, detail } = group;
  const all = agreeing(workers, 'its worker', `its ${workers} workers`);
  const parts = [
    effect === 'replaces'
      ? `replaces ${outdated.length} of ${workers} ${agreeing(workers, 'worker', 'workers')}, at most ${atATime} at a time (disks lost), each ${ONCE_RENTABLE}`
      : workers === 0
        ? 'has no workers'
        : `keeps ${all}`,
    ...(updated === 0 ? [] : [`updates ${updated} in place`]),
    ...scaling,
  ];
  return `${parts.join('; ')}${detail === undefined ? '.' : `: ${detail}`}`;
}
