import { beforeAll, describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../builders/simulated-service.ts';

/*
 * Requests in the very shapes in which public clients send them (command line and libraries of several
 * years, recorded while they ran against the simulator), each with what that client needs of the reply.
 */

/** Replacements of numbers in the recorded session. */
interface Ids {
  readonly offer: number;
  readonly instance: number;
  readonly bid: number;
  readonly volumeOffer: number;
  readonly otherVolumeOffer: number;
  readonly volume: number;
  readonly endpoint: number;
  readonly machine: number;
}

interface Recorded {
  readonly does: string;
  readonly call: (ids: Ids) => string;
  readonly body?: (ids: Ids) => unknown;
  readonly reply: unknown;
  readonly status?: number;
}

const KEY = 'api_key=k';
const LIST_QUERY = `select_filters=${encodeURIComponent('{}')}&order_by=${encodeURIComponent('[{"col": "id", "dir": "asc"}]')}&limit=25`;
const DEFAULTS = {
  verified: { eq: true },
  external: { eq: false },
  rentable: { eq: true },
  rented: { eq: false },
};
const SEVENTEEN = {
  client_id: 'me',
  image: 'pytorch/pytorch',
  env: { '-p 8080:8080': '1', TZ: 'UTC' },
  price: null,
  disk: 20.0,
  label: 'my box',
  extra: null,
  onstart: 'echo hi',
  image_login: null,
  python_utf8: false,
  lang_utf8: false,
  use_jupyter_lab: false,
  jupyter_dir: null,
  force: false,
  cancel_unavail: false,
  template_hash_id: null,
  user: null,
};
const number = expect.any(Number);
const text = expect.any(String);
const DONE = { success: true };

const searches: readonly Recorded[] = [
  {
    does: 'searches with texts for numbers, a list and a negation',
    call: () => `POST /api/v0/bundles/?${KEY}`,
    body: () => ({
      ...DEFAULTS,
      num_gpus: { eq: '1' },
      gpu_name: { in: ['RTX 4090', 'RTX 3090'] },
      geolocation: { notin: ['CN', 'RU'] },
      gpu_ram: { gte: 20000.0 },
      driver_version: { gte: 535086005 },
      inet_down: { gt: '100' },
      duration: { gte: 259200.0 },
      order: [
        ['dph_total', 'desc'],
        ['score', 'asc'],
      ],
      type: 'on-demand',
      limit: 2,
      allocated_storage: 5.0,
    }),
    reply: { offers: [{ id: number, dph_total: number, num_gpus: 1 }, { id: number }] },
  },
  {
    does: 'searches interruptible offers with every default dropped',
    call: () => `POST /api/v0/bundles/?${KEY}`,
    body: () => ({ rentable: { eq: true }, order: [['score', 'desc']], type: 'bid', limit: 1 }),
    reply: { offers: [{ is_bid: true, min_bid: number }] },
  },
  {
    does: 'searches without a type, and without bundling',
    call: () => `POST /api/v0/bundles/?${KEY}`,
    body: () => ({ ...DEFAULTS, type: null, limit: 1, disable_bundling: true, allocated_storage: 100.0 }),
    reply: { offers: [{ id: number }] },
  },
  {
    does: 'searches by the other path',
    call: () => `PUT /api/v0/search/asks/?${KEY}`,
    body: () => ({ select_cols: ['*'], q: { ...DEFAULTS, type: 'reserved', limit: 1 } }),
    reply: { offers: [{ discounted_dph_total: number }] },
  },
  {
    does: 'asks for the names of GPUs at start-up, without a key',
    call: () => 'GET /api/v0/gpu_names/unique/',
    reply: { gpu_names: expect.arrayContaining(['RTX 4090']) },
  },
];

const rentals: readonly Recorded[] = [
  {
    does: 'rents with all 17 keys',
    call: ({ offer }) => `PUT /api/v0/asks/${offer}/?${KEY}`,
    body: () => ({ ...SEVENTEEN, runtype: 'ssh_direc ssh_proxy' }),
    reply: { success: true, new_contract: number, instance_api_key: text },
  },
  {
    does: 'rents with flags as one text and no user',
    call: ({ offer }) => `PUT /api/v0/asks/${offer}/`,
    body: () => ({ client_id: 'me', image: 'x', env: '-p 80:80 -e A=b', disk: 10, runtype: 'ssh' }),
    reply: { success: true, new_contract: number },
  },
  {
    does: 'rents what is rented already',
    call: () => `PUT /api/v0/asks/1/?${KEY}`,
    body: () => ({ ...SEVENTEEN, runtype: 'ssh' }),
    status: 404,
    reply: {
      success: false,
      error: 'invalid_args',
      ask_id: 1,
      msg: 'no_such_ask Instance type by id 1 is not available.',
    },
  },
  {
    does: 'launches what a search finds',
    call: () => `PUT /api/v0/launch_instance/?${KEY}`,
    body: () => ({
      ...SEVENTEEN,
      gpu_name: 'RTX_4090',
      num_gpus: '1',
      region: null,
      q: {
        ...DEFAULTS,
        num_gpus: { eq: '1' },
        disk_space: { gte: '20.0' },
        order: [['score', 'desc']],
        type: 'on-demand',
        limit: 3,
        allocated_storage: 20.0,
      },
    }),
    reply: { success: true, new_contract: number },
  },
];

const lists: readonly Recorded[] = [
  {
    does: 'lists page by page',
    call: () => `GET /api/v1/instances/?${LIST_QUERY}`,
    reply: {
      success: true,
      instances_found: 2,
      total_instances: 2,
      next_token: null,
      label_counts: { '': 2 },
      instances: [{ extra_env: expect.any(Array), start_date: number, image_runtype: text }, {}],
    },
  },
  {
    does: 'lists with columns',
    call: () => `GET /api/v1/instances/?${LIST_QUERY}&select_cols=%5B%22id%22%2C+%22volume_info%22%5D`,
    reply: { instances: [{ id: number, volume_info: [] }, { id: number }] },
  },
  {
    does: 'lists by the first version of the list',
    call: () => `GET /api/v0/instances?owner=me&${KEY}`,
    reply: { instances: [{ duration: number, start_date: number }, {}] },
  },
  {
    does: 'asks what a list can be narrowed to',
    call: () => 'GET /api/v0/instances/filters/',
    reply: { filters: [{ actual_status: 'running', gpu_name: text, verification: text }, {}] },
  },
  {
    does: 'reads one',
    call: ({ instance }) => `GET /api/v0/instances/${instance}/?owner=me&${KEY}`,
    reply: { instances: { ports: expect.any(Object), ssh_host: text, ssh_port: number } },
  },
  {
    does: 'reads one that is gone',
    call: () => `GET /api/v0/instances/99999/?owner=me`,
    reply: { instances: null },
  },
];

const changes: readonly Recorded[] = [
  {
    does: 'stops many',
    call: () => `PUT /api/v0/instances/?${KEY}`,
    body: ({ instance, bid }) => ({ state: 'stopped', ids: [instance, bid] }),
    reply: DONE,
  },
  {
    does: 'labels',
    call: ({ instance }) => `PUT /api/v0/instances/${instance}/?${KEY}`,
    body: () => ({ label: 'new label' }),
    reply: DONE,
  },
  {
    does: 'bids',
    call: ({ bid }) => `PUT /api/v0/instances/bid_price/${bid}/`,
    body: () => ({ client_id: 'me', price: 9.5 }),
    reply: DONE,
  },
  {
    does: 'pays ahead, and prints for how many months',
    call: ({ instance }) => `PUT /api/v0/instances/prepay/${instance}/`,
    body: () => ({ amount: 5.0 }),
    reply: { success: true, timescale: number, discount_rate: number },
  },
  {
    does: 'updates, and prints the instance',
    call: ({ instance }) => `PUT /api/v0/instances/update_template/${instance}/`,
    body: ({ instance }) => ({ id: instance, image: 'x/y' }),
    reply: { success: true, updated_instance: { id: number, image_uuid: 'x/y' } },
  },
  {
    does: 'asks for logs',
    call: ({ instance }) => `PUT /api/v0/instances/request_logs/${instance}/`,
    body: () => ({ tail: '5' }),
    reply: { success: true, result_url: expect.stringMatching(/^http/), msg: text },
  },
  {
    does: 'runs a command',
    call: ({ instance }) => `PUT /api/v0/instances/command/${instance}/`,
    body: () => ({ command: 'ls -l' }),
    reply: { success: true, result_url: expect.stringMatching(/^http/), writeable_path: text },
  },
  {
    does: 'takes a snapshot',
    call: ({ instance }) => `POST /api/v0/instances/take_snapshot/${instance}/`,
    body: ({ instance }) => ({
      id: String(instance),
      container_registry: 'docker.io',
      personal_repo: 'r/x',
      docker_login_user: 'u',
      docker_login_pass: 'p',
      pause: 'true',
    }),
    reply: DONE,
  },
  {
    does: 'destroys one, with an empty body',
    call: ({ instance }) => `DELETE /api/v0/instances/${instance}/?${KEY}`,
    body: () => ({}),
    reply: DONE,
  },
  {
    does: 'destroys many',
    call: () => 'DELETE /api/v0/instances/',
    body: ({ instance, bid }) => ({ instance_ids: [instance, bid] }),
    reply: { success: true, msg: text },
  },
];

const account: readonly Recorded[] = [
  {
    does: 'reads the user, and takes the key out before it prints',
    call: () => `GET /api/v0/users/current?owner=me&${KEY}`,
    reply: { id: number, api_key: text, fullname: text, credit: number },
  },
  {
    does: 'makes a key with permissions and no parameters',
    call: () => `POST /api/v0/auth/apikeys/?${KEY}`,
    body: () => ({ name: 'scoped', permissions: { api: { misc: {} } }, key_params: null }),
    reply: { id: number, key: text, permissions: { api: { misc: {} } } },
  },
  {
    does: 'deletes a key, and prints the text',
    call: () => `DELETE /api/v0/auth/apikeys/1/?${KEY}`,
    body: () => ({}),
    reply: 'Successfully Deleted API Key',
  },
  {
    does: 'adds an SSH key',
    call: () => `POST /api/v0/ssh/?${KEY}`,
    body: () => ({
      ssh_key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB3wDJ1mYxkRk2T8YFb8l8pFqvyBqvIbS9kIv8eWnVXa me',
    }),
    reply: { success: true, key: { id: number } },
  },
  {
    does: 'asks for charges of a span of days',
    call: () =>
      `GET /api/v0/charges/?select_filters=${encodeURIComponent('{"day": {"gte": 1, "lte": 99999999999}}')}&latest_first=true&limit=20&format=table`,
    reply: {
      count: 3,
      total: 3,
      next_token: null,
      results: [
        { type: 'volume', source: expect.stringMatching(/^volume-/), metadata: {}, items: [] },
        { type: 'instance', start: number, end: number, amount: number },
        {},
      ],
    },
  },
  {
    does: 'asks for invoices of a span of time',
    call: () =>
      `GET /api/v1/invoices/?select_filters=${encodeURIComponent('{"when": {"gte": 1, "lte": 99999999999}}')}&latest_first=false&limit=20`,
    reply: { count: 1, results: [{ type: 'credit', source: text, metadata: { invoice_id: number } }] },
  },
  {
    does: 'asks for invoices of one way of paying',
    call: () =>
      `GET /api/v1/invoices/?select_filters=${encodeURIComponent('{"when": {"gte": 1}, "service": {"in": ["stripe_payments"]}}')}&latest_first=false&limit=20`,
    reply: { count: 1, results: [{ source: 'stripe_payments' }] },
  },
  {
    does: 'searches invoices by their amount in cents',
    call: () =>
      `GET /api/v0/invoices?select_filters=${encodeURIComponent('{"amount_cents": {"gt": "3000"}}')}`,
    reply: { count: 1, results: [{ amount: 1000, amount_cents: 100_000 }] },
  },
];

const machines: readonly Recorded[] = [
  {
    does: 'shows one machine, which it tabulates as a bare array',
    call: ({ machine }) => `GET /api/v0/machines/${machine}/?owner=me&${KEY}`,
    reply: [{ id: number, num_gpus: number, gpu_name: text, listed: true }],
  },
  {
    does: 'shows a machine that there is not',
    call: () => `GET /api/v0/machines/1/?owner=me&${KEY}`,
    reply: [],
  },
];

const volumes: readonly Recorded[] = [
  {
    does: 'rents a volume',
    call: () => `PUT /api/v0/volumes/?${KEY}`,
    body: ({ volumeOffer }) => ({ size: 20, id: volumeOffer, name: 'myvol' }),
    reply: { success: true, volume_name: 'myvol' },
  },
  {
    does: 'lists volumes',
    call: () => `GET /api/v0/volumes?owner=me&type=all_volume&${KEY}`,
    reply: { volumes: [{ id: number, start_date: number, instances: [], disk_name: text, inet_up: number }] },
  },
  {
    does: 'clones one under the older names',
    call: () => `POST /api/v0/volumes/copy/?${KEY}`,
    body: ({ volume, otherVolumeOffer }) => ({ source: volume, dest: otherVolumeOffer, size: 20.0 }),
    reply: DONE,
  },
  {
    does: 'deletes one by the query',
    call: ({ volume }) => `DELETE /api/v0/volumes/?id=${volume}&${KEY}`,
    body: () => ({}),
    reply: DONE,
  },
];

const groups: readonly Recorded[] = [
  {
    does: 'creates an endpoint without queue times',
    call: () => `POST /api/v0/endptjobs/?${KEY}`,
    body: () => ({
      client_id: 'me',
      min_load: 10.0,
      target_util: 0.9,
      cold_mult: 2.0,
      cold_workers: 2,
      max_workers: 4,
      endpoint_name: 'other',
      max_queue_time: null,
      target_queue_time: null,
      inactivity_timeout: null,
      autoscaler_instance: 'prod',
    }),
    reply: { success: true, result: number },
  },
  {
    does: 'lists endpoints with a body',
    call: () => `GET /api/v0/endptjobs/?${KEY}`,
    body: () => ({ client_id: 'me', api_key: 'k' }),
    reply: {
      success: true,
      results: [{ api_key: text, max_queue_time: 30, target_queue_time: 10, user_id: number }],
    },
  },
  {
    does: 'updates an endpoint, null for what stays',
    call: ({ endpoint }) => `PUT /api/v0/endptjobs/${endpoint}/?${KEY}`,
    body: ({ endpoint }) => ({ client_id: 'me', endptjob_id: endpoint, min_load: 20.0, target_util: null }),
    reply: DONE,
  },
  {
    does: 'creates a worker group of a public template',
    call: () => `POST /api/v0/autojobs/?${KEY}`,
    body: () => ({
      client_id: 'me',
      min_load: null,
      target_util: null,
      cold_mult: null,
      cold_workers: null,
      test_workers: 2,
      template_hash: '64fa2ed6c3c5b1ea',
      template_id: null,
      search_params: 'gpu_ram>=23 num_gpus=1 verified=True rentable=True rented=False',
      launch_args: null,
      gpu_ram: 24.0,
      endpoint_name: 'chat',
      endpoint_id: null,
      autoscaler_instance: 'prod',
    }),
    reply: { success: true, id: number },
  },
  {
    does: 'reads the logs of an endpoint at the root',
    call: () => 'POST /get_endpoint_logs/',
    body: ({ endpoint }) => ({ id: endpoint, api_key: 'k' }),
    reply: { info0: text, info1: text, trace: text, debug: text },
  },
  {
    does: 'deletes an endpoint',
    call: ({ endpoint }) => `DELETE /api/v0/endptjobs/${endpoint}/?${KEY}`,
    body: ({ endpoint }) => ({ client_id: 'me', endptjob_id: endpoint }),
    reply: DONE,
  },
];

describe('a public client', () => {
  let begun: Awaited<ReturnType<typeof recordedSession>>;
  beforeAll(async () => {
    begun = await recordedSession();
  });

  test.for([...searches, ...rentals, ...lists, ...changes, ...account, ...machines, ...volumes, ...groups])(
    '$does',
    async ({ call, body, reply, status = 200 }) => {
      const { world, ids } = begun;
      const service = simulatedService({ world, apiKey: 'k' });
      const answered = await service.call(call(ids), body?.(ids), { key: 'k' });
      expect(answered.status).toBe(status);
      if (typeof reply === 'string') expect(answered.body).toBe(reply);
      else expect(answered.body).toMatchObject(reply as object);
      expect(answered.headers['content-type']).toBe('application/json');
    },
  );
});

/** Creates a world with an item of each kind; every row starts with a copy of it. */
async function recordedSession() {
  const service = simulatedService({ catalog: 400, apiKey: 'k', settings: { boot: { scale: 0.01 } } });
  const rent = async (offer: number, price: number | null) =>
    (await service.call(`PUT /api/v0/asks/${offer}/`, { image: 'x', disk: 10, price })).body.new_contract;
  const offers = await found(service, 'POST /api/v0/bundles/');
  const [volumeOffer = 0, otherVolumeOffer = 0] = await found(service, 'POST /api/v0/volumes/search/');
  const [first = 0, second = 0, offer = 0] = offers;
  const [instance, bid] = [await rent(first, null), await rent(second, 5)];
  service.advance(60);
  const volume = await service.call('PUT /api/v0/volumes/', { id: volumeOffer, size: 10 });
  const endpoint = await service.call('POST /api/v0/endptjobs/', { endpoint_name: 'chat' });
  const ids: Ids = {
    offer,
    instance,
    bid,
    volumeOffer,
    otherVolumeOffer,
    volume: volume.body.id,
    endpoint: endpoint.body.result,
    machine: Number(Object.keys(service.simulator.world().tables.machines)[0]),
  };
  service.advance(60);
  const world = service.simulator.world();
  // Offer 1 of the rows is one that somebody rents.
  const taken = world.tables.offers[first];
  const tables = taken
    ? { ...world.tables, offers: { ...world.tables.offers, 1: { ...taken, id: 1 } } }
    : world.tables;
  return { world: { ...world, tables }, ids };
}

async function found(service: SimulatedService, spec: string): Promise<readonly number[]> {
  const { body } = await service.call(spec, {
    ...DEFAULTS,
    machine_id: { gte: 1 },
    order: [['dph_total', 'asc']],
    limit: 20,
  });
  return body.offers.map(({ id }: { id: number }) => id);
}
