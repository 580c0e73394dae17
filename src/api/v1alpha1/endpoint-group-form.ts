import * as z from 'zod';
import { isJsonObject } from '../../lib/json.ts';
import { endpointGroupConditions } from './conditions.ts';
import { type EndpointGroupStatus, endpointGroupStatus } from './endpoint-group.ts';
import { type FieldRow, field, group, partOf, recordField, type StatusForm } from './record.ts';
import { list, notes, text } from './schema.ts';

/** Characters of the record: every list of it at its maximum length fits. */
const MAX_GROUP_RECORD = 65_536;

const { shape } = endpointGroupStatus;
const failingWorker = shape.failingWorkers.unwrap().element;
const gateway = shape.gateway.unwrap();
const autoscaling = shape.autoscaling.unwrap();

const GATEWAY = { url: true, heldRequests: true, inFlightRequests: true } as const;
const AUTOSCALING = { rule: true, explanation: true } as const;

/** Fields that people read whole. */
const SHOWN = {
  observedGeneration: true,
  phase: true,
  conditions: true,
  replicas: true,
  selector: true,
  cold: true,
  ready: true,
  starting: true,
  draining: true,
  total: true,
  updated: true,
  load: true,
  utilizationPercent: true,
  pricePerHour: true,
  endpoint: true,
} as const;

const shown = endpointGroupStatus.pick(SHOWN).shape;
const remembered = endpointGroupStatus.omit(SHOWN).shape;

/**
 * The status as the API server stores it. It keeps unknown keys for one release, like the status of a GpuInstance.
 */
export const endpointGroupStoredStatus = z
  .object({
    ...shown,
    gateway: partOf(gateway, Object.keys(GATEWAY))
      .meta(
        notes({
          description: 'Requests of the gateway; all but `url` is written with the load.',
          keepsUnknown: true,
        }),
      )
      .optional(),
    autoscaling: partOf(autoscaling, Object.keys(AUTOSCALING))
      .meta(
        notes({
          description: 'The last decision. `gpu-rent explain` prints each of its terms.',
          keepsUnknown: true,
        }),
      )
      .optional(),
    failing: list(text({ description: 'Name of a worker.', maxLength: 253 }), {
      description: 'Workers whose last report has an error; they are not in the Service.',
      max: 64,
      list: { type: 'atomic' },
    }).optional(),
    record: recordField(
      MAX_GROUP_RECORD,
      '`gpu-rent explain` prints it. Do not edit: a text that cannot be read counts as no record.',
    ).optional(),
  })
  .meta(
    notes({
      description: 'Observed state. Written by the operator only.',
      atomic: true,
      keepsUnknown: true,
    }),
  );

type FailingWorkers = NonNullable<EndpointGroupStatus['failingWorkers']>;

/** Names for people. Without the record's machine for each name, the operator believes none of them. */
const failingRow: FieldRow = {
  stored: 'failing',
  memory: ['failingWorkers'],
  isSplit: true,
  split: ([workers]) => {
    const entries = workers as FailingWorkers;
    const rest = entries.map(({ worker: _name, ...more }) => more);
    return { stored: entries.map(({ worker }) => worker), rest: [rest.length === 0 ? undefined : rest] };
  },
  join: (names, [rest]) => {
    const more: readonly unknown[] = Array.isArray(rest) ? rest : [];
    if (!Array.isArray(names) || names.length !== more.length) return undefined;
    return [names.map((worker: unknown, at) => ({ worker, ...(isJsonObject(more[at]) ? more[at] : {}) }))];
  },
};

const wholeDecision = group('autoscaling', Object.keys(AUTOSCALING), {});

/** A stored decision without its terms is ignored: the next decision is written. */
const autoscalingRow: FieldRow = {
  ...wholeDecision,
  join: (stored, [terms]) =>
    isJsonObject(stored) && 'rule' in stored && isJsonObject(terms)
      ? wholeDecision.join(stored, [terms])
      : undefined,
};

/** Form of the status of an EndpointGroup: rows for people; the record has the rest. */
export const endpointGroupForm: StatusForm = {
  rows: [
    ...Object.keys(shown).map((name) => field(name)),
    group('gateway', Object.keys(GATEWAY), { pickers: 0, heldRequests: 0 }),
    autoscalingRow,
    failingRow,
  ],
  record: z.object({
    ...remembered,
    ...{
      gateway: gateway
        .omit(GATEWAY)
        .meta({ description: 'Pickers of the gateway, and the workers that have most of its requests.' })
        .optional(),
      autoscaling: autoscaling
        .omit(AUTOSCALING)
        .meta({
          description:
            'Each term of the last decision; written when a decision changes, else at most once a minute.',
        })
        .optional(),
      failingWorkers: z
        .array(failingWorker.omit({ worker: true }))
        .meta({ description: 'More of each failing worker: machine, beginning, error.' })
        .optional(),
    },
  }),
  memory: endpointGroupStatus,
  conditions: new Set(Object.keys(endpointGroupConditions)),
  maxRecord: MAX_GROUP_RECORD,
  dropped: ['gateway', 'loadMaxima', 'failingWorkers'],
  needRecord: [],
};
