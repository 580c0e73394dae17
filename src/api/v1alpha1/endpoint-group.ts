import * as z from 'zod';
import type { endpointGroupSpec } from './endpoint-group-spec.ts';
import { type CustomObject, conditions, observedGeneration } from './object.ts';
import { outage } from './outage.ts';
import { choice, decimal, dollars, flag, list, marketplaceId, notes, text, timestamp } from './schema.ts';

export const endpointGroupPhases = [
  'Pending',
  'Scaling',
  'Ready',
  'Zero',
  'Waking',
  'Updating',
  'Paused',
  'Deleting',
  'Failed',
] as const;

const count = (description: string) => z.int().min(0).meta(notes({ description }));

export const autoscalingTerms = z
  .object({
    at: timestamp({ description: 'When these were computed.' }),
    load: decimal({ description: 'Work that arrives per second, over 60 s.' }),
    burstLoad: decimal({ description: 'The same over 10 s.' }),
    longLoad: decimal({ description: 'The largest load of the last hour.' }),
    queue: decimal({ description: 'Work that waits.' }),
    capacity: decimal({ description: 'Work per second that the ready workers can handle.' }),
    perf: decimal({
      description: 'Work per second counted for one worker; left out while unknown.',
    }).optional(),
    rateCapacity: decimal({ description: 'Capacity that the load needs at the target utilisation.' }),
    queueCapacity: decimal({ description: 'Capacity that clears the queue in the target time.' }),
    hotCapacity: decimal({ description: 'The larger of the two.' }),
    totalCapacity: decimal({ description: 'Capacity of hot and cold workers together.' }),
    stabilizedHotCapacity: decimal({
      description: 'Largest hot capacity of the last 300 s, which the hot workers must cover.',
    }).optional(),
    stabilizedTotalCapacity: decimal({
      description: 'The same of hot and cold workers together.',
    }).optional(),
    hotNeed: count('Hot workers that this needs.'),
    totalNeed: count('Workers that this needs.'),
    hot: count('Desired hot workers, after windows, limits and ceiling.'),
    total: count('Desired workers, after windows, limits and ceiling.'),
    rule: text({ description: 'The rule that decided.', maxLength: 64 }),
    explanation: z
      .string()
      .max(512)
      .meta(notes({ description: 'The same in a sentence.' }))
      .optional(),
  })
  .meta(
    notes({
      description:
        'Each term of the last decision; written when a decision changes, else at most once a minute.',
      atomic: true,
    }),
  );

const loadMaximum = z.object({
  at: timestamp({ description: 'The minute.' }),
  load: decimal({ description: 'The largest load in it.' }),
});

const failingWorker = z.object({
  worker: text({ description: 'Its name.', maxLength: 253 }),
  instanceId: marketplaceId('Its machine.'),
  since: timestamp({ description: 'When it first reported an error.' }),
  error: text({ description: 'Its load in that report.', maxLength: 160 }),
});

const replacement = z.object({
  worker: text({ description: 'The name of the broken worker.', maxLength: 253 }),
  at: timestamp({ description: 'When the group decided to replace it.' }),
  count: count('Replacements in a row, without a new worker that serves for long.'),
});

const gatewayWorker = z.object({
  name: text({ description: 'Its name.', maxLength: 253 }),
  requests: count('Requests that it has through the gateway.'),
  work: decimal({ description: 'Work that these requests count as.' }),
  perf: decimal({
    description: 'Work per second that it can do, as measured; left out while unknown.',
  }).optional(),
});

const gatewayStatus = z.object({
  url: text({
    description: 'URL for clients of the group, if the operator has `--gateway-url`.',
    maxLength: 512,
  }).optional(),
  pickers: count('Pickers that reported within 15 s.'),
  heldRequests: count('Requests that wait for a worker.'),
  inFlightRequests: count('Requests that workers have.').optional(),
  workers: list(gatewayWorker, {
    description: 'Workers with the most requests; a worker without data is left out.',
    max: 128,
    list: { type: 'atomic' },
  }).optional(),
  reportedAt: timestamp({ description: 'When the last of their reports came that is on record.' }).optional(),
});

/** The status in memory. */
export const endpointGroupStatus = z
  .object({
    observedGeneration: observedGeneration.optional(),
    conditions: conditions.optional(),
    outage: outage.optional(),
    replicas: count('Hot workers: those that run or are starting.').optional(),
    selector: text({
      description: 'Selects this group for autoscalers; no Pod carries the label.',
      maxLength: 512,
    }).optional(),
    cold: count('Stopped workers that can be started.').optional(),
    ready: count('Workers published in EndpointSlices.').optional(),
    starting: count('Workers that boot or wake.').optional(),
    draining: count('Workers that finish their work before they go.').optional(),
    total: count('All workers.').optional(),
    updated: count('Workers of the present template.').optional(),
    load: decimal({ description: 'Work that arrives per second.' }).optional(),
    utilizationPercent: count('Load as a share of the capacity of ready workers.').optional(),
    pricePerHour: dollars({ description: 'Hourly cost of all workers.' }).optional(),
    endpoint: text({
      description: 'Address of the workers inside the cluster.',
      maxLength: 320,
    }).optional(),
    templateHash: text({ description: 'The hash of the present template.', maxLength: 128 }).optional(),
    everReady: flag({ description: 'True if the group has had a ready worker.' }).optional(),
    lastActivity: timestamp({ description: 'When work was last seen, or a wake.' }).optional(),
    panicUntil: timestamp({ description: 'Time until which a burst keeps hot workers.' }).optional(),
    loadMaxima: list(loadMaximum, {
      description: 'The largest load of each minute of the last hour, so that a restart forgets none.',
      max: 61,
      list: { type: 'atomic' },
    }).optional(),
    failingWorkers: list(failingWorker, {
      description: 'Workers whose last report has an error; they are not in the Service.',
      max: 64,
      list: { type: 'atomic' },
    }).optional(),
    lastReplacement: replacement
      .meta(
        notes({
          description: 'The last broken worker that was replaced. It sets the pace of the next.',
          atomic: true,
        }),
      )
      .optional(),
    gateway: gatewayStatus
      .meta(
        notes({
          description: 'Report of the gateway; all but `url` and `pickers` is written with the load.',
          atomic: true,
        }),
      )
      .optional(),
    endpointsConfigMap: text({
      description: 'The ConfigMap that lists the ready workers for another router.',
      maxLength: 253,
    }).optional(),
    autoscaling: autoscalingTerms.optional(),
    requestedAt: text({
      description: 'The last handled value of `gpurental.dev/requested-at`.',
      maxLength: 253,
    }).optional(),
    wokenAt: text({
      description: 'The last handled value of `gpurental.dev/wake-at`.',
      maxLength: 253,
    }).optional(),
    phase: choice(endpointGroupPhases, {
      description: 'The state in one word, for people. Automation reads `conditions`.',
    }).optional(),
  })
  .meta(notes({ description: 'Observed state. Written by the operator only.', atomic: true }));

export type EndpointGroupSpec = z.output<typeof endpointGroupSpec>;
/** The spec as users write it: every field with a default is optional. */
export type EndpointGroupManifestSpec = z.input<typeof endpointGroupSpec>;
export type EndpointGroupStatus = z.output<typeof endpointGroupStatus>;
/** Workers that follow a load. */
export type EndpointGroup = CustomObject<'EndpointGroup', EndpointGroupSpec, EndpointGroupStatus>;
