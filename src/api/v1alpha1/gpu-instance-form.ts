import * as z from 'zod';
import { hostAndPort, readHostAndPort } from '../../lib/host-port.ts';
import { portText, type ReachedPort, readPortText } from './address-text.ts';
import { gpuInstanceConditions } from './conditions.ts';
import { type GpuInstanceStatus, gpuInstancePhases, gpuInstanceStatus } from './gpu-instance.ts';
import { conditions, observedGeneration } from './object.ts';
import { columns, field, MAX_RECORD, recordField, restOf, type StatusForm, written } from './record.ts';
import { choice, dollars, integer, list, marketplaceId, notes, text, timestamp } from './schema.ts';

const machine = z
  .object({
    id: marketplaceId('Its contract at the marketplace.').optional(),
    gpu: text({ description: 'The GPU model.', maxLength: 128 }).optional(),
    gpuCount: integer({ description: 'Number of GPUs.', min: 0, max: 1_000_000 }).optional(),
    host: marketplaceId('The host that owns it.').optional(),
    state: text({ description: "The marketplace's own word for its state.", maxLength: 64 }).optional(),
    rentedAt: timestamp({ description: "Its start date by the marketplace's clock." }).optional(),
    contractEnd: timestamp({ description: 'When its rental contract ends; left out if unknown.' }).optional(),
    selfEnd: choice(['Proven', 'Unproven'], {
      description:
        'Proven if it has shown that it can end itself, after `maxLifetime` or without a renewal of its lease; left out if it has no fuse.',
    }).optional(),
  })
  .meta(notes({ description: 'The rented machine.' }));

const endpoint = z
  .object({
    address: text({ description: 'host:port for SSH, or of the first port.', maxLength: 300 }).optional(),
    ssh: text({ description: 'host:port of SSH.', maxLength: 300 }).optional(),
    ports: list(text({ description: 'One port.', maxLength: 300 }), {
      description: 'Each port of the container and its public address: `http:8080=203.0.113.17:40017`.',
      max: 64,
      list: { type: 'atomic' },
    }).optional(),
  })
  .meta(notes({ description: 'Address of the machine.' }));

const cost = z
  .object({
    pricePerHour: dollars({ description: 'Present price of an hour, disk included.' }).optional(),
    accrued: dollars({ description: 'Cost of this object until `since`, all machines together.' }),
    since: timestamp({
      description: 'End of `accrued`. From then on add `pricePerHour` × time; nothing if there is no price.',
    }).optional(),
  })
  .meta(notes({ description: 'Money.', keepsUnknown: true }));

const lease = z
  .object({
    renewedAt: timestamp({
      description:
        'Time of the last renewal. If renewals stop, the machine ends itself when the duration of its lease is over.',
    }).optional(),
  })
  .meta(notes({ description: 'The lease of the machine, once it is armed.' }));

const idle = z
  .object({
    since: timestamp({ description: 'Since when its GPUs have been idle.' }).optional(),
    endsAt: timestamp({
      description: 'Earliest time of `spec.idle.action`; left out if no action follows.',
    }).optional(),
    endedAt: timestamp({
      description:
        'When the operator stopped or destroyed the machine because it was idle. Nothing runs until `gpu-rent start`.',
    }).optional(),
  })
  .meta(notes({ description: 'Idle time of the machine, once it is reported, and its end by `spec.idle`.' }));

const RUN_LEAVES = {
  exitCode: true,
  message: true,
  startedAt: true,
  finishedAt: true,
  attempts: true,
  lost: true,
  log: true,
} as const;

const run = gpuInstanceStatus.shape.run
  .unwrap()
  .pick(RUN_LEAVES)
  .meta(notes({ description: 'The run of an object with `spec.completion`.' }));

const pastMachine = z
  .object({
    id: marketplaceId("The machine's contract.").optional(),
    reason: text({ description: 'Reason of its end, from the catalogue.', maxLength: 128 }),
    endedAt: timestamp({ description: 'When it ended.' }),
    cost: dollars({ description: 'What it cost.' }),
  })
  .meta(notes({ description: 'A former machine.', keepsUnknown: true }));

/**
 * The status as the API server stores it. It keeps unknown keys for one release, so that an operator can read the
 * fields of the form before the record.
 */
export const gpuInstanceStoredStatus = z
  .object({
    observedGeneration: observedGeneration.optional(),
    phase: choice(gpuInstancePhases, {
      description: 'The state in one word, for people. Automation reads `conditions`.',
    }).optional(),
    conditions: conditions.optional(),
    machine: machine.optional(),
    endpoint: endpoint.optional(),
    cost: cost.optional(),
    history: list(pastMachine, {
      description: 'The last five machines and why each ended.',
      max: 5,
      list: { type: 'atomic' },
    }).optional(),
    binding: gpuInstanceStatus.shape.binding,
    lease: lease.optional(),
    idle: idle.optional(),
    run: run.optional(),
    record: recordField(
      MAX_RECORD,
      '`gpu-rent explain` prints it. Do not edit: a claim that does not verify, or a text that cannot be read, makes the operator search for the machine by its label.',
    ).optional(),
  })
  .meta(
    notes({
      description: 'Observed state. Written by the operator only.',
      atomic: true,
      keepsUnknown: true,
    }),
  );

type Ssh = NonNullable<GpuInstanceStatus['ssh']>;

const {
  // Fields that are shown to people in full.
  observedGeneration: _generation,
  phase: _phase,
  conditions: _conditions,
  instanceId: _id,
  hostId: _host,
  actualStatus: _state,
  rentedAt: _rentedAt,
  endpoint: _endpoint,
  binding: _binding,
  idle: _idle,
  idleEndedAt: _idleEndedAt,
  ...remembered
} = gpuInstanceStatus.shape;

/**
 * Form of the status of a GpuInstance: each row maps a field in memory to the place where people read it; the record
 * has the rest.
 */
export const gpuInstanceForm: StatusForm = {
  rows: [
    field('observedGeneration'),
    field('phase'),
    field('conditions'),
    field('machine.id', 'instanceId'),
    field('machine.gpu', 'gpu.name'),
    field('machine.gpuCount', 'gpu.count'),
    field('machine.host', 'hostId'),
    field('machine.state', 'actualStatus'),
    field('machine.rentedAt', 'rentedAt'),
    field('machine.contractEnd', 'contractEnd.at'),
    field('machine.selfEnd', 'selfEnd.proof'),
    field('endpoint.address', 'endpoint'),
    written<[Ssh]>('endpoint.ssh', ['ssh'], {
      write: ({ host, port }) => hostAndPort(host, port),
      read: (stored) => {
        const ssh = readHostAndPort(stored);
        return ssh && [ssh];
      },
    }),
    written<[readonly ReachedPort[], string]>('endpoint.ports', ['ports', 'publicAddress'], {
      write: (ports, address) =>
        ports === undefined || ports.length === 0 || address === undefined
          ? undefined
          : ports.map((port) => portText(port, address)),
      read: (stored) => {
        const ports = Array.isArray(stored) ? stored.map(readPortText) : [];
        const [first] = ports;
        return first && [ports.flatMap((read) => (read ? [read.port] : [])), first.address];
      },
    }),
    field('cost.pricePerHour'),
    field('cost.accrued'),
    field('cost.since'),
    columns(
      'history',
      { id: 'instanceId', reason: 'reason', endedAt: 'endedAt', cost: 'cost' },
      { attempt: 0, rentedMinutes: 0 },
    ),
    field('binding'),
    field('lease.renewedAt'),
    field('idle.since'),
    field('idle.endsAt'),
    field('idle.endedAt', 'idleEndedAt'),
    ...Object.keys(RUN_LEAVES).map((leaf) => field(`run.${leaf}`)),
  ],
  record: z.object({
    ...remembered,
    ...{
      gpu: restOf(gpuInstanceStatus.shape.gpu.unwrap(), 'The rest of what was rented: `memory`.'),
      contractEnd: restOf(
        gpuInstanceStatus.shape.contractEnd.unwrap(),
        '`isReported`: an event has reported the end, a day before it.',
      ),
      selfEnd: restOf(
        gpuInstanceStatus.shape.selfEnd.unwrap(),
        'When the machine ends itself: after `lifeSeconds` of running, or `leaseSeconds` without a renewal. And when its proof was settled, and why it is unproven: `checkedAt`, `detail`.',
      ),
      cost: restOf(
        gpuInstanceStatus.shape.cost.unwrap(),
        'Prices that are assumed, reported or of storage, and `accrued` before this month.',
      ),
      run: restOf(
        gpuInstanceStatus.shape.run.unwrap(),
        'What decides about the next attempt of a run: `failed`, `outcome`, `collectingSince`, `settled`, `stopped`.',
      ),
      lease: restOf(
        gpuInstanceStatus.shape.lease.unwrap(),
        'When its renewal began, and its way: `since`, `by`, the pinned SSH host key `hostKey`.',
      ),
      history: z
        .array(gpuInstanceStatus.shape.history.unwrap().element.partial())
        .meta({ description: 'More of each former machine: attempt, host, price, minutes.' })
        .optional(),
    },
  }),
  memory: gpuInstanceStatus,
  conditions: new Set(Object.keys(gpuInstanceConditions)),
  maxRecord: MAX_RECORD,
  dropped: ['facts'],
  needRecord: [
    ...['machine.id', 'machine.gpu', 'machine.gpuCount', 'machine.host', 'machine.state'],
    ...['machine.rentedAt', 'machine.contractEnd', 'machine.selfEnd'],
    ...['endpoint.address', 'endpoint.ssh', 'endpoint.ports'],
  ],
};
