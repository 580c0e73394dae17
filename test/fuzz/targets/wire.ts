import * as z from 'zod';
import * as apiKeys from '../../../src/markets/vast/api-keys.ts';
import * as failure from '../../../src/markets/vast/errors/classify-failure.ts';
import * as autoscaler from '../../../src/markets/vast/groups/autoscaler.ts';
import * as endpointGroups from '../../../src/markets/vast/groups/endpoint-groups.ts';
import * as workerGroups from '../../../src/markets/vast/groups/worker-groups.ts';
import * as change from '../../../src/markets/vast/http/call.ts';
import { parseReply } from '../../../src/markets/vast/http/reply-body.ts';
import * as instance from '../../../src/markets/vast/instances/instance.ts';
import * as rent from '../../../src/markets/vast/instances/rent.ts';
import * as offer from '../../../src/markets/vast/offers/offers.ts';
import * as secrets from '../../../src/markets/vast/secrets.ts';
import * as sshKeys from '../../../src/markets/vast/ssh-keys.ts';
import * as tfaLogin from '../../../src/markets/vast/tfa/login.ts';
import * as tfa from '../../../src/markets/vast/tfa/methods.ts';
import * as user from '../../../src/markets/vast/users.ts';
import * as volume from '../../../src/markets/vast/volumes.ts';
import { type FuzzTarget, soundFields } from '../target.ts';
import { INSTANCE, OFFER } from './marketplace-rows.ts';

/** Makes of a row or reply what the client gives its callers. */
type Reader = (value: unknown) => void;

/** Reads what the schema accepts, and nothing else: the client asks for no more either. */
function made<Schema extends z.ZodType>(
  schema: Schema,
  make: (row: z.output<Schema>) => object,
  times: readonly string[] = [],
): Reader {
  return (value) => {
    const row = schema.safeParse(value);
    if (row.success) soundFields(make(row.data), times);
  };
}

interface WireFile {
  /** A file of `src/markets/vast`; every schema that it exports is tried. */
  readonly exports: Readonly<Record<string, unknown>>;
  readonly readers: readonly Reader[];
  readonly seeds: readonly string[];
}

const toEach = <Row, Made extends object>(rows: readonly Row[], make: (row: Row) => Made): void => {
  for (const row of rows) soundFields(make(row), ['loadedAt', 'startedAt']);
};

function workersOf(reply: z.output<typeof autoscaler.workersReply>): object {
  const workers = autoscaler.toWorkers(reply);
  if (workers.type === 'ready') toEach(workers.workers, (worker) => worker);
  return workers;
}

const TFA_TIMES = ['lockedUntil', 'createdAt', 'lastUsedAt'];

/** The files of the service's own words, by the name of the target that reads them. */
const WIRE_FILES: Readonly<Record<string, WireFile>> = {
  'wire-account': {
    exports: { ...apiKeys, ...sshKeys, ...secrets },
    readers: [],
    seeds: [
      '{"apikeys":[{"id":1,"name":"k","user_id":2,"team_id":3,"team_name":"t","permissions":{"api":{"misc":{}}},"rights":{"api":{}}}]}',
      '{"id":4,"key":"secret","permissions":{"api":{"instance_read":{}}}}',
      '{"new_api_key":"n"}',
      '[{"id":1,"public_key":"ssh-ed25519 A","key":"k","created_at":"2026-01-01"}]',
      '{"ssh_keys":[{"id":"1"}]}',
      '{"key":{"id":5}}',
      '{"secrets":{"A":"***"}}',
    ],
  },
  'wire-autoscaler': {
    exports: autoscaler,
    readers: [
      made(autoscaler.workersReply, workersOf),
      made(autoscaler.routeReply, autoscaler.toRoute),
      made(autoscaler.groupLogsReply, autoscaler.toGroupLogs),
    ],
    seeds: [
      '[{"id":1,"status":"Ready","cur_load":2.5,"cur_perf":9,"perf":8,"measured_perf":7,"reqs_working":1,"disk_usage":3,"loaded_at":1767614400.5,"started_at":"1767614300","url":"http://w"}]',
      '{"workers":[{"id":2}]}',
      '{"error_msg":"not ready","workers_to_update":1}',
      '{"url":"http://w","request_idx":3,"status":"ok","signature":"s"}',
      '{"info0":"a","info1":"b","trace":"c","debug":"d","error":null}',
    ],
  },
  'wire-groups': {
    exports: { ...endpointGroups, ...workerGroups },
    readers: [
      made(endpointGroups.endpointGroupRow, endpointGroups.toEndpointGroup),
      made(workerGroups.workerGroupRow, workerGroups.toWorkerGroup),
    ],
    seeds: [
      '{"id":1,"endpoint_name":"e","api_key":"k","endpoint_state":"active","min_load":1,"min_cold_load":0,"target_util":0.9,"cold_mult":2.5,"cold_workers":5,"max_workers":20,"max_queue_time":30,"target_queue_time":10,"inactivity_timeout":60}',
      '{"results":[{"id":1,"endpoint_id":2,"endpoint_name":"e","template_hash":"h","template_id":4,"search_params":"gpu_ram>=23","launch_args":"","gpu_ram":24}]}',
      '{"id":3,"search_params":{"gpu_ram":{"gte":23}}}',
      '{"result":{"id":1}}',
      '{"result":4}',
    ],
  },
  'wire-tfa': {
    exports: { ...tfa, ...tfaLogin },
    readers: [
      made(tfa.tfaStatusReply, tfa.toTfaStatus),
      made(tfa.tfaMethodRow, tfa.toTfaMethod, TFA_TIMES),
      made(tfa.backupCodesReply, ({ backup_codes }) => tfa.toSecrets(backup_codes)),
    ],
    seeds: [
      '{"tfa_enabled":true,"methods":[{"id":1,"method":"totp","label":"phone","is_primary":1,"fail_count":2,"locked_until":1767614400,"created_at":1.5,"last_used":null}],"backup_codes_remaining":8,"new_method_authorized":false}',
      '{"id":1,"method":"sms","phone_number":"+49***1","locked_until":"1767614400.25"}',
      '{"secret":"s","msg":"sent","provisioning_uri":"otpauth://totp/x"}',
      '{"id":7,"username":"u","session_key":"k","backup_codes_remaining":7,"legacy_tfa_user":"False"}',
      '{"msg":"done","backup_codes":["a-b","c-d"],"remaining_methods":1}',
      '{"method":{"id":1,"method":"email"},"msg":"updated"}',
    ],
  },
  'wire-volume': {
    exports: volume,
    readers: [
      made(volume.volumeOfferRow, volume.toVolumeOffer),
      made(volume.volumeRow, volume.toVolume, ['startedAt']),
    ],
    seeds: [
      '{"id":1,"machine_id":2,"host_id":3,"disk_space":100.5,"disk_bw":900,"disk_name":"nvme","storage_cost":0.2,"reliability":0.99,"duration":86400,"verification":"verified","geolocation":"SE"}',
      '{"offers":[{"id":1}]}',
      '{"volumes":[{"id":"5","label":"l","status":"attached","disk_space":10,"start_date":1767614400.5}]}',
      '{"id":5,"start_date":1767614400}',
      '{"volume_name":"v"}',
    ],
  },
  instance: {
    exports: instance,
    readers: [made(instance.instanceRow, instance.toInstance, ['startedAt'])],
    seeds: [
      INSTANCE,
      '{"id":"7","actual_status":null,"ports":null}',
      `{"instances":${INSTANCE}}`,
      '{"result_url":"https://logs.example/1","msg":null}',
    ],
  },
  instances: {
    exports: {
      instancesReply: instance.instancesReply,
      instancesPageReply: instance.instancesPageReply,
    },
    readers: [],
    seeds: ['{"instances":[],"instances_found":1,"total_instances":2,"next_token":"t"}'],
  },
  offer: {
    exports: offer,
    readers: [made(offer.offerRow, offer.toOffer)],
    seeds: [OFFER, `{"offers":[${OFFER}]}`],
  },
  'marketplace-reply': {
    exports: { ...failure, ...change, ...rent, ...user },
    readers: [made(user.userReply, user.toUser)],
    seeds: [
      '{"success":false,"error":"no_such_ask","msg":"gone"}',
      '{"success":true,"new_contract":12,"instance_api_key":"k"}',
      '{"id":1,"username":"u","email":"a@b","balance":1.5,"credit":2,"ssh_key":" k ","tfa_status":"legacy"}',
    ],
  },
};

/** Schemas of these exports, by name. */
export function schemasOf(exported: Readonly<Record<string, unknown>>): ReadonlyMap<string, z.ZodType> {
  const schemas = Object.entries(exported).flatMap(([name, value]): [string, z.ZodType][] =>
    value instanceof z.ZodType ? [[name, value]] : [],
  );
  return new Map(schemas);
}

/** Schemas that some target reads. */
export const READ_SCHEMAS: ReadonlySet<z.ZodType> = new Set(
  Object.values(WIRE_FILES).flatMap(({ exports }) => [...schemasOf(exports).values()]),
);

/** Reads a reply by every schema of a file, as the client does, and then as the rows that stand in it. */
function readBy({ exports, readers }: WireFile): FuzzTarget['run'] {
  const schemas = schemasOf(exports);
  return (body) => {
    const behaviour = [...schemas].map(([name, schema]) => {
      const reply = parseReply({ status: 200, body }, schema);
      return `${name}: ${reply.type === 'unreadable' ? reply.reason : reply.type}`;
    });
    if (behaviour.some((line) => line.endsWith('it is not JSON'))) return behaviour;
    const value: unknown = body === '' ? {} : JSON.parse(body);
    for (const read of readers) read(value);
    return behaviour;
  };
}

/** Replies of the marketplace, a target for each file that knows their words. */
export const WIRE_TARGETS: readonly FuzzTarget[] = Object.entries(WIRE_FILES).map(([name, file]) => ({
  name,
  seeds: file.seeds,
  run: readBy(file),
}));
