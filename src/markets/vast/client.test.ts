import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answeringTransport, reply } from '../../../test/builders/answering-transport.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { seededRandom } from '../../lib/random.ts';
import { Secret } from '../../lib/secret.ts';
import { MarketplaceError } from '../../market/errors.ts';
import { createPacer } from '../../market/pacing.ts';
import { createMarketplaceClient, type MarketplaceClient } from './client.ts';

function clientFor(body: unknown, baseUrl = 'https://market.example') {
  const network = answeringTransport(reply(body));
  const clock = createVirtualClock();
  const client = createMarketplaceClient({
    baseUrl,
    apiKey: new Secret('key'),
    transport: network.transport,
    clock,
    random: seededRandom(1),
    log: silentLogger,
    pacer: createPacer({ clock, scale: 0 }),
    limits: { readAttempts: 1 },
  });
  return { client, ...network };
}

type CallRow = readonly [
  name: string,
  call: (client: MarketplaceClient) => Promise<unknown>,
  line: string,
  body: unknown,
  answer: unknown,
  value: unknown,
];

const ok = { success: true, msg: 'done' };
const changed = { answeredAt: undefined, message: 'done' };

const instanceCalls: readonly CallRow[] = [
  ['stop', (c) => c.instances.stop('4'), 'PUT /api/v0/instances/4/', { state: 'stopped' }, ok, changed],
  ['start', (c) => c.instances.start('4'), 'PUT /api/v0/instances/4/', { state: 'running' }, ok, changed],
  [
    'stop many',
    (c) => c.instances.stopMany(['4', '5']),
    'PUT /api/v0/instances/',
    { state: 'stopped', ids: [4, 5] },
    ok,
    changed,
  ],
  [
    'start many',
    (c) => c.instances.startMany(['4']),
    'PUT /api/v0/instances/',
    { state: 'running', ids: [4] },
    ok,
    changed,
  ],
  ['label', (c) => c.instances.label('4', 'x'), 'PUT /api/v0/instances/4/', { label: 'x' }, ok, changed],
  ['reboot', (c) => c.instances.reboot('4'), 'PUT /api/v0/instances/reboot/4/', {}, ok, changed],
  ['recycle', (c) => c.instances.recycle('4'), 'PUT /api/v0/instances/recycle/4/', {}, ok, changed],
  [
    'bid',
    (c) => c.instances.changeBid('4', 250_000),
    'PUT /api/v0/instances/bid_price/4/',
    { client_id: 'me', price: 0.25 },
    '"fine"',
    { answeredAt: undefined, message: undefined },
  ],
  [
    'bid what wins',
    (c) => c.instances.changeBid('4', null),
    'PUT /api/v0/instances/bid_price/4/',
    { client_id: 'me', price: null },
    ok,
    changed,
  ],
  [
    'logs',
    (c) => c.instances.requestLogs('4', { tailLines: 10, daemonLogs: true, filter: 'x' }),
    'PUT /api/v0/instances/request_logs/4/',
    { filter: 'x', tail: '10', daemon_logs: 'true' },
    { success: true, result_url: 'https://logs.example/1' },
    { answeredAt: undefined, message: undefined, resultUrl: 'https://logs.example/1' },
  ],
  [
    'a command',
    (c) => c.instances.runCommand('4', 'ls -l'),
    'PUT /api/v0/instances/command/4/',
    { command: 'ls -l' },
    { success: true, result_url: 'https://results.example/1', writeable_path: '/x' },
    { answeredAt: undefined, message: undefined, resultUrl: 'https://results.example/1' },
  ],
  ['destroy', (c) => c.instances.destroy('4'), 'DELETE /api/v0/instances/4/', {}, ok, changed],
  [
    'destroy many',
    (c) => c.instances.destroyMany(['4', '5']),
    'DELETE /api/v0/instances/',
    { instance_ids: [4, 5] },
    ok,
    changed,
  ],
  [
    'rent many',
    (c) => c.instances.rentMany(['1', '2'], { image: 'i', label: 'l' }),
    'POST /api/v0/asks/bulk/',
    { image: 'i', label: 'l', ids: [1, 2] },
    ok,
    changed,
  ],
  [
    'an absent instance',
    (c) => c.instances.get('4'),
    'GET /api/v0/instances/4/?owner=me',
    undefined,
    { instances: null },
    null,
  ],
];

const accountCalls: readonly CallRow[] = [
  [
    'list keys',
    (c) => c.apiKeys.list(),
    'GET /api/v0/auth/apikeys/',
    undefined,
    { apikeys: [{ id: 1, user_id: 5, rights: { api: { misc: {} } }, key: 'hidden' }] },
    [
      {
        id: '1',
        name: undefined,
        userId: '5',
        teamId: undefined,
        teamName: undefined,
        permissions: { api: { misc: {} } },
      },
    ],
  ],
  [
    'show a key',
    (c) => c.apiKeys.get('1').then(({ id }) => id),
    'GET /api/v0/auth/apikeys/1/',
    undefined,
    { id: 1, name: 'ci' },
    '1',
  ],
  [
    'create a key',
    (c) =>
      c.apiKeys.create({ name: 'ci', permissions: { api: { misc: {} } } }).then(({ key }) => key.reveal()),
    'POST /api/v0/auth/apikeys/',
    { name: 'ci', permissions: { api: { misc: {} } } },
    { id: 2, key: 'new-key', permissions: { api: { misc: {} } } },
    'new-key',
  ],
  [
    'delete a key, answered by a bare string',
    (c) => c.apiKeys.delete('2'),
    'DELETE /api/v0/auth/apikeys/2/',
    {},
    '"Successfully Deleted API Key"',
    { answeredAt: undefined, message: undefined },
  ],
  [
    'reset the key',
    (c) => c.apiKeys.reset().then((key) => key.reveal()),
    'PUT /api/v0/commands/reset_apikey/',
    { client_id: 'me' },
    { success: true, new_api_key: 'n' },
    'n',
  ],
  [
    'list SSH keys',
    (c) => c.sshKeys.list(),
    'GET /api/v0/ssh/',
    undefined,
    [
      { id: 1, key: 'ssh-ed25519 A' },
      { id: 2, key: 'ssh-ed25519 B', created_at: 1_700_000_000.5 },
      { id: 3, key: 'ssh-ed25519 C', created_at: '2023-11-14T22:13:20Z' },
    ],
    [
      { id: '1', publicKey: 'ssh-ed25519 A', createdAt: undefined },
      { id: '2', publicKey: 'ssh-ed25519 B', createdAt: 1_700_000_000_500 },
      { id: '3', publicKey: 'ssh-ed25519 C', createdAt: 1_700_000_000_000 },
    ],
  ],
  [
    'list wrapped SSH keys',
    (c) => c.sshKeys.list().then(([key]) => key?.publicKey),
    'GET /api/v0/ssh/',
    undefined,
    { ssh_keys: [{ id: 1, public_key: 'ssh-ed25519 A' }] },
    'ssh-ed25519 A',
  ],
  [
    'add an SSH key',
    (c) => c.sshKeys.create('ssh-ed25519 A'),
    'POST /api/v0/ssh/',
    { ssh_key: 'ssh-ed25519 A' },
    { success: true, key: { id: 9 } },
    '9',
  ],
  [
    'change an SSH key',
    (c) => c.sshKeys.update('9', 'ssh-ed25519 B'),
    'PUT /api/v0/ssh/9/',
    { id: 9, ssh_key: 'ssh-ed25519 B' },
    ok,
    changed,
  ],
  ['remove an SSH key', (c) => c.sshKeys.delete('9'), 'DELETE /api/v0/ssh/9/', {}, ok, changed],
  [
    'attach an SSH key',
    (c) => c.sshKeys.attach('4', 'ssh-ed25519 A'),
    'POST /api/v0/instances/4/ssh/',
    { ssh_key: 'ssh-ed25519 A' },
    ok,
    changed,
  ],
  [
    'detach an SSH key',
    (c) => c.sshKeys.detach('4', '9'),
    'DELETE /api/v0/instances/4/ssh/9/',
    {},
    ok,
    changed,
  ],
  [
    'list secrets by name',
    (c) => c.secrets.list(),
    'GET /api/v0/secrets/',
    undefined,
    { success: true, secrets: { B: '*****', A: '*****' } },
    ['A', 'B'],
  ],
  [
    'create a secret',
    (c) => c.secrets.create('A', new Secret('v')),
    'POST /api/v0/secrets/',
    { key: 'A', value: 'v' },
    ok,
    changed,
  ],
  [
    'change a secret',
    (c) => c.secrets.update('A', new Secret('v')),
    'PUT /api/v0/secrets/',
    { key: 'A', value: 'v' },
    ok,
    changed,
  ],
  ['delete a secret', (c) => c.secrets.delete('A'), 'DELETE /api/v0/secrets/', { key: 'A' }, ok, changed],
];

const volumeCalls: readonly CallRow[] = [
  [
    'search volumes',
    (c) => c.volumes.search({ filters: [], sizeGB: 20 }).then(([offer]) => offer?.pricePerGBMonth),
    'POST /api/v0/volumes/search/',
    { allocated_storage: 20 },
    { offers: [{ id: 8, storage_cost: 0.2 }, 'junk'] },
    200_000,
  ],
  [
    'rent a volume',
    (c) => c.volumes.rent({ offerId: '8', sizeGB: 20, name: 'data' }),
    'PUT /api/v0/volumes/',
    { id: 8, size: 20, name: 'data' },
    { success: true, volume_name: 'V.3' },
    { name: 'V.3' },
  ],
  [
    'list volumes',
    (c) => c.volumes.list('local').then(([volume]) => volume?.startedAt),
    'GET /api/v0/volumes?owner=me&type=local_volume',
    undefined,
    { volumes: [{ id: 3, start_date: 1_700_000_000 }] },
    1_700_000_000_000,
  ],
  ['delete a volume', (c) => c.volumes.delete('3'), 'DELETE /api/v0/volumes/?id=3', { id: 3 }, ok, changed],
  ['unlist a volume', (c) => c.volumes.unlist('8'), 'POST /api/v0/volumes/unlist', { id: 8 }, ok, changed],
  [
    'offer a volume',
    (c) => c.volumes.offer({ machineIds: ['11'], sizeGB: 100, pricePerGBMonth: 200_000 }),
    'POST /api/v0/volumes/',
    { size: 100, machine: [11], price_disk: 0.2 },
    ok,
    changed,
  ],
  [
    'offer a volume for a while',
    (c) =>
      c.volumes.offer({
        machineIds: ['11'],
        sizeGB: 100,
        pricePerGBMonth: 200_000,
        endsAt: 1_700_000_000_000,
      }),
    'POST /api/v0/volumes/',
    { size: 100, machine: [11], price_disk: 0.2, end_date: 1_700_000_000 },
    ok,
    changed,
  ],
];

const group = { id: 6, endpoint_name: 'chat', api_key: 'EK', min_load: '1.5', max_workers: null };
const kept = Object.fromEntries(
  (
    'endpoint_name min_load min_cold_load target_util cold_mult cold_workers max_workers max_queue_time ' +
    'target_queue_time inactivity_timeout autoscaler_instance endpoint_state'
  )
    .split(' ')
    .map((name) => [name, null]),
);
const groupCalls: readonly CallRow[] = [
  [
    'list endpoint groups',
    (c) =>
      c.endpointGroups
        .list()
        .then(([row]) => [row?.id, row?.minLoad, row?.maxWorkers, row?.apiKey?.reveal()]),
    'GET /api/v0/endptjobs/?client_id=me',
    undefined,
    { success: true, results: [group] },
    ['6', 1.5, undefined, 'EK'],
  ],
  [
    'show an endpoint group',
    (c) => c.endpointGroups.get('6').then(({ name }) => name),
    'GET /api/v0/endptjobs/6/',
    undefined,
    { success: true, result: group },
    'chat',
  ],
  [
    'create an endpoint group',
    (c) => c.endpointGroups.create({ endpointName: 'chat', minLoad: 0, maxQueueSeconds: null }),
    'POST /api/v0/endptjobs/',
    { client_id: 'me', endpoint_name: 'chat', min_load: 0, max_queue_time: null },
    { success: true, result: 6 },
    '6',
  ],
  [
    'change an endpoint group, null keeping the rest',
    (c) => c.endpointGroups.update('6', { maxWorkers: 3, state: 'suspended' }),
    'PUT /api/v0/endptjobs/6/',
    { ...kept, client_id: 'me', endptjob_id: 6, max_workers: 3, endpoint_state: 'suspended' },
    ok,
    changed,
  ],
  [
    'delete an endpoint group',
    (c) => c.endpointGroups.delete('6'),
    'DELETE /api/v0/endptjobs/6/',
    { client_id: 'me', endptjob_id: 6 },
    ok,
    changed,
  ],
  [
    'list worker groups',
    (c) => c.workerGroups.list().then(([row]) => row?.searchParams),
    'GET /api/v0/workergroups/?client_id=me',
    undefined,
    { success: true, results: [{ id: 1, search_params: { num_gpus: { eq: 1 } } }] },
    '{"num_gpus":{"eq":1}}',
  ],
  [
    'create a worker group',
    (c) => c.workerGroups.create({ endpointId: '6', searchParams: 'gpu_ram>=23', gpuMemoryGB: 24 }),
    'POST /api/v0/workergroups/',
    { client_id: 'me', endpoint_id: 6, search_params: 'gpu_ram>=23', gpu_ram: 24 },
    { success: true, id: 12 },
    '12',
  ],
  [
    'delete a worker group',
    (c) => c.workerGroups.delete('12'),
    'DELETE /api/v0/workergroups/12/',
    { client_id: 'me', autojob_id: 12 },
    ok,
    changed,
  ],
];

const autoscalerCalls: readonly CallRow[] = [
  [
    'workers, bare',
    (c) => c.autoscaler.workers('6'),
    'POST /get_endpoint_workers/',
    { id: 6 },
    [{ id: 1, status: 'IDLE', measured_perf: 40, loaded_at: 1_700_000_000 }],
    {
      type: 'ready',
      workers: [
        {
          id: '1',
          status: 'idle',
          load: undefined,
          performance: 40,
          requestsWorking: undefined,
          diskUsageGB: undefined,
          loadedAt: 1_700_000_000_000,
          startedAt: undefined,
          url: undefined,
        },
      ],
    },
  ],
  [
    'workers, not ready',
    (c) => c.autoscaler.workers('6'),
    'POST /get_endpoint_workers/',
    { id: 6 },
    { error_msg: 'wait' },
    { type: 'notReady', message: 'wait' },
  ],
  [
    'logs',
    (c) => c.autoscaler.logs({ of: 'workerGroup', id: '12', tailLines: 5 }),
    'POST /get_autogroup_logs/',
    { id: 12, api_key: 'key', tail: 5 },
    { info0: 'a', info1: 'b', trace: 'c', debug: 'd' },
    { info0: 'a', info1: 'b', trace: 'c', debug: 'd', error: undefined },
  ],
  [
    'update workers',
    (c) => c.autoscaler.updateWorkers({ workerGroupId: '12', cancel: true }),
    'POST /update_workers/',
    { workergroup_id: 12, api_key: 'key', cancel_update: true },
    { success: true, workers_to_update: 2 },
    { workers: 2, message: undefined },
  ],
  [
    'route, ready',
    (c) =>
      c.autoscaler.route({ endpointName: 'chat', endpointKey: new Secret('EK'), cost: 7, requestIndex: 0 }),
    'POST /route/',
    { endpoint: 'chat', api_key: 'EK', cost: 7, request_idx: 0, replay_timeout: 60 },
    { url: 'https://w.example', request_idx: 3, signature: 's' },
    {
      type: 'ready',
      url: 'https://w.example',
      requestIndex: 3,
      authData: { url: 'https://w.example', request_idx: 3, signature: 's', status: undefined },
    },
  ],
  [
    'route, waiting',
    (c) =>
      c.autoscaler.route({ endpointName: 'chat', endpointKey: new Secret('EK'), cost: 7, requestIndex: 3 }),
    'POST /route/',
    { endpoint: 'chat', api_key: 'EK', cost: 7, request_idx: 3, replay_timeout: 60 },
    { status: 'queued', request_idx: 3 },
    { type: 'waiting', requestIndex: 3, status: 'queued' },
  ],
];

describe.each([
  ['instances', instanceCalls],
  ['the account', accountCalls],
  ['volumes', volumeCalls],
  ['groups', groupCalls],
  ['the autoscaler', autoscalerCalls],
])('%s', (_, calls) => {
  test.each(calls)('%s', async (_name, call, line, body, answer, value) => {
    const { client, requests } = clientFor(answer);
    expect(await call(client)).toEqual(value);
    const [request] = requests;
    expect(`${request?.method} ${request?.path}`).toBe(line);
    expect(request?.body === undefined ? undefined : JSON.parse(request.body)).toEqual(body);
    expect(requests).toHaveLength(1);
  });
});

describe('the autoscaler base', () => {
  test.each([
    ['https://console.vast.ai', 'https://run.vast.ai'],
    ['https://market.example', 'https://market.example'],
  ])('of %s is %s', async (baseUrl, origin) => {
    const { client, requests } = clientFor([], baseUrl);
    await client.autoscaler.workers('6');
    expect(requests[0]?.origin).toBe(origin);
  });

  test('routes with the endpoint’s key and takes worker reports without any', async () => {
    const { client, requests } = clientFor({});
    await client.autoscaler.route({
      endpointName: 'e',
      endpointKey: new Secret('EK'),
      cost: 1,
      requestIndex: 0,
    });
    await client.autoscaler.reportWorkerStatus({ id: 1 });
    expect(requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer EK', undefined]);
  });
});

describe('a list of instances', () => {
  const row = { id: 1, actual_status: 'running' };
  test.each([
    ['no count', { instances: [row] }],
    ['a count that is too large', { instances_found: 2, instances: [row] }],
    ['a machine twice', { instances_found: 2, instances: [row, row] }],
    ['a row without an id', { instances_found: 1, instances: [{ actual_status: 'running' }] }],
    ['no rows', { instances_found: 0 }],
    ['success: false', { success: false, msg: 'x' }],
  ])('scenario 21: with %s is not believed', async (_, body) => {
    await expect(clientFor(body).client.instances.list()).rejects.toBeInstanceOf(MarketplaceError);
  });

  test('comes by pages where the whole list is gone', async () => {
    const { client, answer, requests } = clientFor({});
    answer(
      reply({ error: 'gone', msg: 'x' }, 410),
      reply({ success: true, instances: [row], instances_found: 1, total_instances: 2, next_token: 't' }),
      reply({
        success: true,
        instances: [{ id: 2 }],
        instances_found: 1,
        total_instances: 2,
        next_token: null,
      }),
    );
    expect((await client.instances.listAll()).instances.map(({ id }) => id)).toEqual(['1', '2']);
    expect(decodeURIComponent(requests[2]?.path ?? '')).toBe(
      '/api/v1/instances/?limit=25&order_by=[{"col":"id","dir":"asc"}]&after_token=t',
    );
  });

  test('keeps words it does not know, and drops what must not be kept', async () => {
    const body = {
      instances_found: '1',
      instances: [
        {
          ...row,
          actual_status: 'scheduling',
          start_date: '1700000000.5',
          dph_total: '0.25',
          ssh_host: 'ssh5.example',
          ssh_port: '10022',
          image_runtype: 'jupyter_proxy ssh_proxy',
          ports: { '22/tcp': [{ HostIp: '0.0.0.0', HostPort: '20000' }], 'bad/tcp': null },
          extra_env: [['TOKEN', 'canary']],
          onstart: 'canary',
          jupyter_token: 'canary',
          image_args: ['canary'],
        },
      ],
    };
    const { instances } = await clientFor(body).client.instances.list();
    expect(instances[0]).toMatchObject({
      actualStatus: 'unrecognized',
      actualStatusText: 'scheduling',
      label: undefined,
      startedAt: 1_700_000_000_500,
      pricePerHour: 250_000,
      sshHost: 'ssh5.example',
      sshPort: 10_023,
      ports: { '22/tcp': 20_000 },
    });
    expect(JSON.stringify(instances)).not.toContain('canary');
  });

  test.each([
    ['that cannot be read', { label: 17 }, undefined],
    ['that is not in the row', {}, undefined],
    ['that is none', { label: null }, null],
    ['that is empty', { label: '' }, ''],
  ])('a label that cannot be read is not the same as none: one %s', async (_, written, label) => {
    const body = { instances_found: 1, instances: [{ ...row, ...written }] };
    const { instances } = await clientFor(body).client.instances.list();
    expect(instances.map((instance) => instance.label)).toEqual([label]);
  });

  test('gives the direct SSH address where port 22 is mapped', async () => {
    const body = {
      instances_found: 1,
      instances: [
        { ...row, label: null, public_ipaddr: '203.0.113.7', ports: { '22/tcp': [{ HostPort: '20000' }] } },
      ],
    };
    const { instances } = await clientFor(body).client.instances.list();
    expect(instances[0]).toMatchObject({ sshHost: '203.0.113.7', sshPort: 20_000, label: null });
  });
});

describe('whatever JSON arrives', () => {
  const names = [
    'instances',
    'offers',
    'instances_found',
    'id',
    'new_contract',
    'ports',
    'actual_status',
    'success',
  ];
  const anyReply = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(fc.constantFrom(...names), fc.jsonValue()),
    fc.record({
      instances_found: fc.nat(3),
      instances: fc.array(fc.dictionary(fc.constantFrom(...names), fc.jsonValue())),
    }),
    fc.record({ offers: fc.array(fc.jsonValue()) }),
  );
  const calls: readonly ((client: MarketplaceClient) => Promise<unknown>)[] = [
    (c) => c.instances.list(),
    (c) => c.instances.page(),
    (c) => c.instances.get('1'),
    (c) => c.offers.search({ filters: [] }),
    (c) => c.users.current(),
    (c) => c.instances.rent('1', { image: 'i' }, { deadlineMs: 1_000 }),
    (c) => c.instances.destroy('1'),
    (c) => c.volumes.list(),
    (c) => c.tfa.status(),
    (c) => c.endpointGroups.list(),
    (c) => c.autoscaler.workers('1'),
  ];

  test('a call gives a value or a MarketplaceError, and a rent that is no success is never certain', {
    tags: 'long',
  }, async () => {
    await fc.assert(
      fc.asyncProperty(anyReply, fc.constantFrom(...calls), async (body, call) => {
        const error = await call(clientFor(JSON.stringify(body)).client).then(
          () => undefined,
          (caught: unknown) => caught,
        );
        if (error === undefined) return;
        expect(error).toBeInstanceOf(MarketplaceError);
        expect(['malformedReply', 'refused']).toContain((error as MarketplaceError).kind);
      }),
      { numRuns: 500 },
    );
  });
});
