import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Given, given, machineOf, time, withMachine } from '../../../test/builders/observed.ts';
import { gpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import type { MachineRow } from '../../market/machine.ts';
import { instanceRows } from '../../markets/vast/instances/instance.ts';
import { toMachineRow } from '../../markets/vast/machine-row.ts';
import { statusOf } from './conditions.ts';
import { decide } from './decide.ts';

const usual = {
  id: 1,
  actual_status: 'running',
  machine_id: 1100,
  host_id: 2100,
  start_date: 1_795_175_700,
  dph_total: 0.5,
  storage_total_cost: 0.01,
  ssh_host: 'proxy',
  ssh_port: 20_022,
  public_ipaddr: '203.0.113.5',
  ports: { '22/tcp': [{ HostPort: '4000' }] },
  gpu_name: 'RTX 4090',
  num_gpus: 1,
  gpu_ram: 24_000,
  image_uuid: 'example/image:1',
};

const text = fc.oneof(
  fc.constantFrom('', ' ', '😀', 'x'.repeat(64), `${'x'.repeat(63)}😀`, 'running', 'stopped', 'exited'),
  fc.string({ maxLength: 600, unit: 'grapheme' }),
  fc.string({ minLength: 250, maxLength: 600 }),
);
const number = fc.oneof(
  fc.constantFrom(0, -1, 0.5, 1e-9, 24_563.5, 1e6, 1e9, 1e12, 8e12, 2.6e11, 4.1e9, 1e300, -1e12),
  fc.double({ noNaN: true }),
  fc.integer(),
);
const port = fc.tuple(
  fc.constantFrom('0', '1', '22', '022', '65535', '65536', '70000', '', 'x', '-22', '22.5'),
  fc.constantFrom('', '/tcp', '/udp', '/TCP', '/sctp', '/', '/tcp/udp'),
);
const ports = fc
  .array(fc.tuple(port, fc.constantFrom('1', '4000', '0', '65536', 'x')), { maxLength: 12 })
  .map((pairs) => Object.fromEntries(pairs.map(([key, to]) => [key.join(''), [{ HostPort: to }]])));

const oddRow = fc
  .record(
    {
      actual_status: fc.oneof(text, fc.constant(null)),
      machine_id: number,
      host_id: number,
      start_date: number,
      dph_total: number,
      storage_total_cost: number,
      ssh_host: text,
      ssh_port: number,
      public_ipaddr: text,
      ports,
      gpu_name: text,
      num_gpus: number,
      gpu_ram: number,
      image_uuid: text,
    },
    { requiredKeys: [] },
  )
  .map((odd): MachineRow => toMachineRow(instanceRows.row.parse({ ...usual, ...odd })));

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const TIMES: ReadonlySet<string> = new Set([
  'since',
  'actualStatusSince',
  'rentedAt',
  'runningAt',
  'firstRentedAt',
]);

/** Parts of the decided status that the API server would refuse. */
function refused(situation: Given): unknown {
  const observed = given(situation);
  const step = decide(observed);
  if (step.type !== 'decision' || !step.status) return [];
  const status = statusOf(observed.object, step.status, observed.clock.now);
  const keys = (status.ports ?? []).map(({ containerPort, protocol }) => `${containerPort}/${protocol}`);
  const times: string[] = [];
  JSON.stringify(status, (key, value: unknown) => {
    if (TIMES.has(key) && value !== undefined) times.push(String(value));
    return value;
  });
  return [
    ...(gpuInstanceStatus.safeParse(status).error?.issues ?? []),
    ...keys.filter((key, index) => keys.indexOf(key) < index),
    ...times.filter((each) => !TIME.test(each)),
  ];
}

const adopting: Given = {
  spec: { adopt: { instanceId: '1' } },
  facts: { adoption: 'Unlabelled' },
  finalizers: ['gpurental.dev/machine'],
};

const situations: readonly (readonly [string, (row: MachineRow) => Given])[] = [
  ['it is held', (row) => withMachine(row)],
  [
    'it is seen for the first time',
    (row) => withMachine(row, { status: { rentedAt: undefined, cost: undefined } }),
  ],
  [
    'it ran in another month',
    (row) =>
      withMachine(row, {
        status: { cost: { accrued: '1.00', pricePerHour: '0.50', since: time(-30 * 86_400) } },
      }),
  ],
  [
    'its end is held back',
    (row) => withMachine(row, { spec: { paused: true }, status: { specHash: 'v1:0' } }),
  ],
  ['it is to be stopped', (row) => withMachine(row, { spec: { powerState: 'Stopped' } })],
  ['it is found', (row) => ({ machines: [machineOf(1, { ...row, label: machineOf(1).row.label })] })],
  [
    'it is taken over',
    (row) => ({
      ...adopting,
      list: {
        adoptTarget: {
          row: { ...row, reports: {}, unsettled: new Set() },
          ownership: { type: 'unlabelled' },
        },
      },
    }),
  ],
];

test.each(situations)(
  'whatever a row says, the status fits the schema when %s',
  { tags: 'long' },
  (_, situationOf) => {
    fc.assert(
      fc.property(oddRow, (row) => {
        expect(refused(situationOf(row))).toEqual([]);
      }),
      { numRuns: 100 },
    );
  },
);
