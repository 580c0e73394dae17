import * as z from 'zod';
import { gatewaySpec } from './gateway-spec.ts';
import { gpuInstanceSpecSchema } from './gpu-instance-spec.ts';
import { loadSource } from './load-source.ts';
import {
  type CelRule,
  choice,
  countOrShare,
  decimal,
  dollars,
  duration,
  flag,
  integer,
  notes,
  stringMap,
  text,
  whereWritten,
} from './schema.ts';

const template = z
  .object({
    metadata: z
      .object({
        labels: stringMap({ description: 'Labels of each worker.', example: '{app: llm}' }).optional(),
        annotations: stringMap({
          description: 'Annotations of each worker.',
          example: '{owner: team-a}',
        }).optional(),
      })
      .meta(notes({ description: 'Metadata of each worker.' }))
      .optional(),
    spec: gpuInstanceSpecSchema({ serviceByDefault: false }).meta(
      notes({ description: 'The GpuInstance that each worker is.' }),
    ),
  })
  .meta(
    notes({
      description: 'Template of each worker.',
      rules: [
        {
          rule: '!has(self.spec.adopt)',
          message: 'leave adopt out: the machines of a group are its own rentals',
          fieldPath: '.spec.adopt',
          reason: 'FieldValueForbidden',
        },
        {
          rule: '!has(self.spec.idle)',
          message: 'leave idle out: the load of a group decides which workers run',
          fieldPath: '.spec.idle',
          reason: 'FieldValueForbidden',
        },
        {
          rule: '!has(self.spec.completion)',
          message:
            'leave completion out: a worker serves until it is removed; create a GpuInstance for a run',
          fieldPath: '.spec.completion',
          reason: 'FieldValueForbidden',
        },
        {
          rule: "self.spec.powerState == 'Running'",
          message: 'leave powerState out: the group decides which workers run',
          fieldPath: '.spec.powerState',
          reason: 'FieldValueForbidden',
        },
        {
          rule: "self.spec.deletionPolicy == 'Destroy'",
          message: 'leave deletionPolicy out: a group destroys the workers that it deletes',
          fieldPath: '.spec.deletionPolicy',
          reason: 'FieldValueForbidden',
        },
      ],
    }),
  );

const rules: readonly CelRule[] = [
  {
    rule: whereWritten(
      'duration',
      ['self.targetQueueTime', 'self.maxQueueTime'],
      'duration(self.targetQueueTime) <= duration(self.maxQueueTime)',
    ),
    message: 'write a targetQueueTime that is not above maxQueueTime',
    messageExpression:
      "'targetQueueTime ' + self.targetQueueTime + ' is above maxQueueTime ' + self.maxQueueTime + ': lower the one or raise the other'",
    fieldPath: '.targetQueueTime',
  },
  {
    rule: 'self.coldWorkers <= self.maxWorkers',
    message: 'write coldWorkers that are not above maxWorkers',
    messageExpression:
      "'coldWorkers %d is above maxWorkers %d: lower the one or raise the other'.format([self.coldWorkers, self.maxWorkers])",
    fieldPath: '.coldWorkers',
  },
  {
    rule: '!has(self.replicas) || self.replicas <= self.maxWorkers',
    message: 'write replicas that are not above maxWorkers',
    messageExpression:
      "'replicas %d is above maxWorkers %d: lower the one or raise the other'.format([self.replicas, self.maxWorkers])",
    fieldPath: '.replicas',
  },
  {
    rule: "self.scaleToZero == 'Allow' || !has(self.inactivityTimeout)",
    message: 'inactivityTimeout delays scaling to zero: leave it out with scaleToZero: Never',
    fieldPath: '.inactivityTimeout',
    reason: 'FieldValueForbidden',
  },
  {
    rule: `!has(self.maxSpendPerHour) || !has(self.template.spec.offers) || self.template.spec.offers.exists(o, !has(o.maxPricePerHour) || ${whereWritten('dollars', ['o.maxPricePerHour', 'self.maxSpendPerHour'], 'double(o.maxPricePerHour) <= double(self.maxSpendPerHour)')})`,
    message:
      'maxSpendPerHour is below the maxPricePerHour of every alternative of the template: no worker could ever be rented',
    fieldPath: '.maxSpendPerHour',
  },
  {
    rule: "!has(self.load.type) || self.load.type != 'Gateway' || (has(self.gateway) && self.gateway.enabled)",
    message: 'type: Gateway needs an enabled gateway: write gateway: {}, or another type',
    fieldPath: '.load.type',
    reason: 'FieldValueRequired',
  },
];

const updateStrategy = z
  .object({
    type: choice(['RollingUpdate', 'OnDelete'], {
      description:
        'RollingUpdate: workers whose machine differs from the new template are drained and replaced; all others are updated in place. OnDelete: only new workers use the new template.',
    }).default('RollingUpdate'),
    maxUnavailable: countOrShare({
      description:
        'Maximum number of workers, or share of the hot ones (at least one), that an update may take out of service.',
      example: '25%',
    }).default(1),
  })
  .meta(notes({ description: 'Effect of a changed template on existing workers.' }));

export const endpointGroupSpec = z
  .object({
    endpointName: text({
      description:
        "The name of the Service; the object's own name when left out. Groups of a namespace with the same one share the Service.",
      example: 'llm',
      maxLength: 63,
      pattern: '^[a-z]([-a-z0-9]*[a-z0-9])?$',
      write: 'write the name of a Service: lower case letters, digits and "-", beginning with a letter',
    }).optional(),
    template,
    load: loadSource.prefault({}),
    gateway: gatewaySpec.optional(),
    minLoad: decimal({
      description:
        'The load that is always provided for, in units per second (tokens per second for language models).',
      example: '"100"',
    }).default('0'),
    minColdLoad: decimal({
      description: 'The same floor for hot and cold workers together.',
      example: '"300"',
    }).default('0'),
    targetUtilizationPercent: integer({
      description: 'Target utilization of the hot capacity.',
      min: 1,
      max: 100,
    }).default(90),
    coldMultiplier: decimal({
      description:
        'Capacity of hot and cold workers together as a multiple of the capacity that the load needs. Below 1 it acts as 1.',
    }).default('2.5'),
    coldWorkers: integer({
      description: 'Workers, hot or cold, that are kept when there is no load.',
      min: 0,
      max: 1000,
    }).default(5),
    maxWorkers: integer({
      description:
        'Maximum number of workers at one time. Everything that may bill counts: creating, hot, cold, leaving.',
      min: 1,
      max: 1000,
    }).default(20),
    maxQueueTime: duration({
      description: 'The longest a request may wait in a worker.',
      min: '1s',
      max: '24h',
    }).default('30s'),
    drainTimeout: duration({
      description:
        'Maximum time for a leaving worker to finish its requests. A worker that does not report its requests leaves after maxQueueTime.',
      min: '1s',
      max: '24h',
    }).default('10m'),
    targetQueueTime: duration({
      description: 'Queue time at which the group adds capacity.',
      min: '1s',
      max: '24h',
    }).default('10s'),
    inactivityTimeout: duration({
      description:
        'Time without traffic before the last hot worker is stopped. Without it the load alone decides.',
      example: '10m',
      min: '1s',
    }).optional(),
    scaleToZero: choice(['Allow', 'Never'], { description: 'Never: at least one worker stays hot.' }).default(
      'Allow',
    ),
    wakeTimeout: duration({
      description: 'Maximum time for a cold worker to start; then it is destroyed and replaced.',
      min: '1s',
      max: '1h',
    }).default('60s'),
    notReadyTimeout: duration({
      description:
        'Maximum time for a running worker to become ready; then it is destroyed and replaced, one at a time. A worker that reports an error leaves the Service immediately and is replaced after 60 s. Each consecutive replacement waits twice as long as the previous one, up to 1h.',
      min: '1m',
      max: '24h',
    }).default('10m'),
    expectedPerf: decimal({
      description: 'Work per second of one worker, until workers have reported their own.',
      example: '"250"',
    }).optional(),
    spreadBy: choice(['None', 'Machine', 'Host', 'Region'], {
      description: 'Hardware that two workers should not share while other offers match.',
    }).default('None'),
    updateStrategy: updateStrategy.prefault({}),
    maxSpendPerHour: dollars({
      description:
        'Maximum hourly cost of all workers together. It limits new rentals and wakes, never running workers. 0: no worker is rented or started.',
      example: '"6.00"',
    }).optional(),
    pause: z
      .object({
        scaleUp: flag({ description: 'The group rents and starts no worker.' }).default(false),
        scaleDown: flag({
          description: 'The group stops or destroys no worker because of low load.',
        }).default(false),
      })
      .meta(notes({ description: 'Stops scaling in one direction or both.' }))
      .prefault({}),
    replicas: integer({
      description:
        'Number of hot workers, set by hand or through the scale subresource; the load is then ignored. Windows and limits still apply. Leave it out of Git.',
      example: '3',
      min: 0,
      max: 1000,
    }).optional(),
  })
  .meta(notes({ description: 'The desired state.', rules }));
