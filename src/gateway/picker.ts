import type { GatewayGroupReport, GatewayReply } from '../api/gateway-report.ts';
import { annotations, endpointGroupResource } from '../api/v1alpha1/names.ts';
import { clientKeys, clientSecretName } from '../api/v1alpha1/worker-link.ts';
import { inBackground } from '../lib/background.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import { Secret } from '../lib/secret.ts';
import { formatExactTime } from '../lib/time.ts';
import type { DialPolicy } from '../reach/dial.ts';
import type { KubeClient } from '../runtime/kube/kube-client.ts';
import { type ObjectRef, objectKey, refOf } from '../runtime/kube/kube-object.ts';
import type { Informer } from '../runtime/list-watch/informer.ts';
import { accessLogService, type EndedRequest, type LastingRequest } from './access-log.ts';
import { callerKeys } from './caller-keys.ts';
import { clientAddress } from './client-address.ts';
import { ClientConnections, type Connection } from './client-connections.ts';
import { connectionLimitService } from './connection-limit.ts';
import { type ClientIdentity, type DiscoveredGroup, Discovery } from './discovery.ts';
import { type Decision, endpointPickerService, type ProxiedEnd } from './endpoint-picker-protocol.ts';
import { MAX_CONNECTIONS } from './envoy-config.ts';
import { type Answer, extProcService, type RequestHead } from './ext-proc.ts';
import type { GatewayMetrics, GroupFigures } from './gateway-metrics.ts';
import {
  blockedOf,
  type GatewayGroup,
  type GroupSettings,
  type PublishedWorker,
  settingsOf,
  startsWorkers,
  type WorkerSlice,
  workersOf,
} from './group-view.ts';
import { healthService } from './grpc-health.ts';
import type { GrpcService } from './grpc-server.ts';
import { NamedSecrets, type SecretData } from './named-secrets.ts';
import { errorReply, type GatewayError } from './openai-error.ts';
import { PickedRequests } from './picked-requests.ts';
import { routeOf } from './request-route.ts';
import { type Access, ServedGroup, UNREAD_KEYS } from './served-group.ts';

export interface PickerOptions {
  readonly groups: Informer<GatewayGroup>;
  readonly slices: Informer<WorkerSlice>;
  readonly client: Pick<KubeClient, 'get' | 'patch'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: GatewayMetrics;
  /** Policy for addresses of workers, and the address that Envoy dials for one. */
  readonly addresses: DialPolicy;
  /**
   * Called when a request waits for a worker that must be started: the operator must be notified immediately.
   */
  readonly onWake?: () => void;
  /**
   * The only group that is served, for proxies of the Gateway API; without it all groups are, for the gateway's own
   * Envoy.
   */
  readonly pool?: string | undefined;
  /** Number of proxies in front of Envoy that are trusted for the address of a client; default 0. */
  readonly trustedHops?: number;
  /** Maximum memory of waiting requests of all groups; unlimited by default. */
  readonly maxHeldBytes?: number;
  /** Maximum connections of all clients to the own Envoy; default {@link MAX_CONNECTIONS}. */
  readonly maxConnections?: number | undefined;
  /**
   * Maximum time from the pick to the end of a request's body, unless its worker answers before; unlimited by default.
   */
  readonly bodyTimeoutMs?: number;
}

/** Index of slices by group. */
export const BY_GROUP = 'group';

/**
 * Picks the worker for each request of Envoy. It serves all groups with a gateway in the watched namespaces, from the
 * cached objects; only the waiting requests are in memory.
 */
export class Picker {
  readonly services: readonly GrpcService[];
  readonly #options: PickerOptions;
  readonly #groups = new Map<string, ServedGroup>();
  readonly #picked = new PickedRequests();
  readonly #connections: ClientConnections;
  readonly #secrets: NamedSecrets;
  readonly #discovery: Discovery;
  #hasStarted = false;
  /** Certificates for calls to the workers of a group, by its key. */
  readonly #identities = new Map<string, ClientIdentity>();
  #refusesAll = false;
  /** Callers whose keys were logged as unusable, by group. */
  readonly #warned = new Map<string, string>();

  constructor(options: PickerOptions) {
    this.#options = options;
    const { client, clock, log, groups, slices, maxConnections = MAX_CONNECTIONS } = options;
    this.#connections = new ClientConnections(maxConnections);
    this.#secrets = new NamedSecrets({ client, clock, log, onChange: () => this.#takeOver() });
    this.#discovery = new Discovery({
      log,
      onAccepted: () => this.#updateAll(),
      onFresh: () => this.#forgetEnvoy(),
    });
    this.services =
      options.pool === undefined
        ? [
            extProcService((head) => this.answer(head), log),
            accessLogService({
              onEnd: (request) => this.#ended(request),
              onProgress: (request) => this.#lasts(request),
              onClose: (connection) => this.#connections.close(connection),
            }),
            connectionLimitService((connection) => this.#open(connection)),
            this.#discovery.service,
          ]
        : [
            endpointPickerService({ onRequest: (head) => this.#decide(head), clock, log }),
            healthService(() => this.isReady()),
          ];
    // A first list of many objects would otherwise cause one update per object.
    const refresh = (): void => {
      if (this.#hasStarted) this.#refresh();
    };
    groups.onChange(refresh);
    slices.onChange(refresh);
  }

  /** Serves the groups of the copies. Call it when they are complete; every later change updates the groups. */
  start(): void {
    this.#hasStarted = true;
    this.#refresh();
  }

  /** Answers all waiting and later requests with 503. */
  refuseAll(): void {
    this.#refusesAll = true;
    for (const group of this.#groups.values()) group.close(ENDS.message);
  }

  /** Refuses all requests and stops reading Secrets. */
  close(): void {
    this.refuseAll();
    this.#secrets.stop();
  }

  figures(): readonly GroupFigures[] {
    return [...this.#groups.values()].map((group) => group.figures());
  }

  /** Returns the reports on all groups for the operator. */
  report(): GatewayGroupReport[] {
    return [...this.#groups.values()].map((group) => group.report());
  }

  /**
   * Sets the operator's facts about other pickers, which share the workers. A group that the reply leaves out has no
   * other picker.
   */
  shareWorkers({ pickers, groups }: GatewayReply): void {
    const replied = new Map(groups.map((group) => [objectKey(group), group.workers]));
    for (const [key, group] of this.#groups) {
      const workers = new Map((replied.get(key) ?? []).map((worker) => [worker.name, worker]));
      group.setOthers({ count: pickers - 1, workers });
    }
  }

  /** Returns true if an Envoy has requested its clusters. */
  isConnected(): boolean {
    return this.#discovery.isConnected();
  }

  /** Returns true if proxies of the Gateway API call, and no own Envoy. */
  isOfPool(): boolean {
    return this.#options.pool !== undefined;
  }

  /** Returns true if requests are accepted: for a pool, when its group is served. */
  isReady(): boolean {
    const { pool } = this.#options;
    return this.#hasStarted && !this.#refusesAll && (pool === undefined || this.#groups.has(pool));
  }

  /** Decides for a proxy of the Gateway API: all its requests are for the pool, whatever their host and path. */
  async #decide(head: RequestHead): Promise<Decision> {
    const reply = (error: GatewayError): Decision => ({ answer: errorReply(error), onEnd: () => {} });
    const group = this.#groups.get(this.#options.pool ?? '');
    if (!group) return reply(UNKNOWN_POOL);
    if (this.#refusesAll) return reply(ENDS);
    // Such a proxy would send requests without encryption to a worker that requires it.
    if (group.settings().link === 'TLS') return reply(ENCRYPTED_POOL);
    const id = this.#options.random.uuid();
    const answer = await group.answer({ id, head, path: head.headers.get(':path') ?? '/' });
    const picked = answer.type === 'route' ? answer.destinations[0] : undefined;
    const onEnd = ({ served, ...end }: ProxiedEnd): void => {
      group.ended(id, { ...end, id, requestId: '', upstream: served ?? picked, attempts: 1 });
    };
    return { answer, onEnd };
  }

  /** Resolves to the answer for Envoy. */
  async answer(head: RequestHead): Promise<Answer> {
    const path = head.headers.get(':path') ?? '/';
    const authority = head.headers.get(':authority') ?? '';
    const route = routeOf({ path, authority }, (key) => this.#groups.has(key));
    const group = route && this.#groups.get(route.group);
    if (!group) return errorReply(UNKNOWN_GROUP);
    if (this.#refusesAll) return errorReply(ENDS);
    const id = this.#options.random.uuid();
    const answer = await group.answer({ id, head, path: route.path });
    if (answer.type === 'route')
      this.#picked.add(id, {
        requestId: head.headers.get('x-request-id') ?? '',
        at: this.#options.clock.monotonic(),
        cut: head.cut,
      });
    return answer;
  }

  #open(connection: Connection): boolean {
    const { place } = connection;
    const address = place.slice(0, place.lastIndexOf(':')).replace(/^\[(.*)\]$/, '$1');
    const isOpen = this.#connections.open(connection, clientAddress(address, 0));
    if (!isOpen) this.#options.metrics.refusedConnection();
    return isOpen;
  }

  /** Removes requests and connections: a restarted Envoy has none of the previous one. */
  #forgetEnvoy(): void {
    this.#picked.clear();
    this.#connections.clear();
    for (const group of this.#groups.values()) group.forgetInFlight();
  }

  #ended(request: EndedRequest): void {
    const id = this.#picked.take(request);
    if (id === undefined) return;
    for (const group of this.#groups.values()) if (group.ended(id, request)) return;
  }

  /** Ends a request whose client sends its body too slowly: it would occupy a worker's capacity. */
  #lasts({ id, isArriving }: LastingRequest): void {
    const { clock, bodyTimeoutMs = Number.POSITIVE_INFINITY } = this.#options;
    const picked = isArriving && id !== undefined ? this.#picked.get(id) : undefined;
    if (picked && clock.monotonic() - picked.at >= bodyTimeoutMs) picked.cut?.(LATE_BODY);
  }

  #refresh(): void {
    const { groups, log, pool } = this.#options;
    const served = new Map<string, GroupSettings>();
    for (const group of groups.list()) {
      const settings = settingsOf(group);
      const key = objectKey(group.metadata);
      if (settings && (pool === undefined || key === pool)) served.set(key, settings);
    }
    for (const [key, group] of this.#groups) {
      if (served.has(key)) continue;
      group.close('This group is not served any more.');
      this.#groups.delete(key);
      this.#warned.delete(key);
      log.info('Group is not served any more', { group: key });
    }
    for (const [key, settings] of served) {
      if (this.#groups.has(key)) continue;
      this.#groups.set(key, this.#serve(key, settings));
      log.info('Group is served', { group: key });
    }
    this.#secrets.follow([...served.values()].flatMap(secretsOf));
    for (const key of this.#identities.keys())
      if (served.get(key)?.link !== 'TLS') this.#identities.delete(key);
    this.#takeOver();
  }

  #serve(key: string, settings: GroupSettings): ServedGroup {
    const { clock, metrics, trustedHops = 0 } = this.#options;
    return new ServedGroup({
      trustedHops,
      onHeld: () => this.#shed(),
      key,
      settings,
      clock,
      metrics,
      wake: () => this.#wake(key),
    });
  }

  /** Refuses a request of the group with the most memory: no group blocks the others. */
  #shed(): void {
    const { maxHeldBytes = Number.POSITIVE_INFINITY } = this.#options;
    const groups = [...this.#groups.values()];
    const held = (): number => groups.reduce((sum, group) => sum + group.heldBytes(), 0);
    for (let over = held() - maxHeldBytes; over > 0; over = held() - maxHeldBytes) {
      const [first, ...others] = groups;
      const most = others.reduce(
        (one, other) => (other.heldBytes() > (one?.heldBytes() ?? 0) ? other : one),
        first,
      );
      if (!most || most.heldBytes() === 0) return;
      most.shed('Waiting requests use all the memory of this gateway for them (--max-held-memory).');
    }
  }

  /** Updates groups, workers and Secrets from the present copies. */
  #takeOver(): void {
    this.#setDiscovered();
    this.#updateAll();
    this.#refreshAccess();
  }

  /** Sends the groups to Envoy. A group whose workers could not be called safely is left out: its requests wait. */
  #setDiscovered(): void {
    const discovered = [...this.#groups.keys()].toSorted().flatMap((key): readonly DiscoveredGroup[] => {
      const identity = this.#identityOf(key);
      if (identity === 'unread') return [];
      const byAddress = new Map(
        this.#workersOf(key).map(({ address, dnsName }) => [address, { address, dnsName }]),
      );
      const endpoints = [...byAddress.values()].toSorted((one, other) =>
        one.address < other.address ? -1 : 1,
      );
      return [{ key, endpoints, identity }];
    });
    this.#discovery.set(discovered);
  }

  /** Returns the last certificate that was read: running requests do not end because a Secret was deleted. */
  #identityOf(key: string): ClientIdentity | 'unread' | undefined {
    const group = this.#options.groups.get(key);
    const settings = group && settingsOf(group);
    if (settings?.link !== 'TLS') return undefined;
    const read = this.#secrets.known(clientSecretOf(settings));
    const identity = read.type === 'present' ? clientIdentity(read.data) : undefined;
    if (identity) this.#identities.set(key, identity);
    return this.#identities.get(key) ?? 'unread';
  }

  #workersOf(key: string) {
    const { groups, slices, addresses } = this.#options;
    const group = groups.get(key);
    return group ? workersOf(group, slices.byIndex(BY_GROUP, key), addresses) : [];
  }

  /** Updates all groups. A worker that Envoy does not know yet counts as absent. */
  #updateAll(): void {
    const { pool } = this.#options;
    for (const [key, served] of this.#groups) {
      const group = this.#options.groups.get(key);
      const settings = group && settingsOf(group);
      if (!settings) continue;
      const workers = this.#workersOf(key);
      // A proxy of the Gateway API reaches any address.
      const isKnown = (worker: PublishedWorker): boolean =>
        pool !== undefined || this.#discovery.knows(key, worker);
      const known = workers.filter(isKnown);
      served.update(settings, known, { blocked: blockedOf(group), starts: startsWorkers(group) });
    }
  }

  #refreshAccess(): void {
    for (const [key, group] of this.#groups) {
      const access = this.#accessOf(group.settings());
      group.setAccess(access);
      this.#warn(key, access);
    }
  }

  /** Logs unusable keys once, until the Secret is valid again. */
  #warn(key: string, access: Access): void {
    const unusable = access.type === 'keys' ? access.keys.unusable.join(', ') : '';
    if (unusable !== '' && unusable !== this.#warned.get(key))
      this.#options.log.warn('Keys of callers are no SHA-256', { group: key, callers: unusable });
    this.#warned.set(key, unusable);
  }

  #accessOf({ namespace, keysSecret: name }: GroupSettings): Access {
    if (name === undefined) return { type: 'open' };
    const known = this.#secrets.known({ namespace, name });
    switch (known.type) {
      case 'present':
        return { type: 'keys', keys: callerKeys(known.data) };
      case 'absent':
        return {
          type: 'unknown',
          state: 'Missing',
          problem: `There is no Secret ${name} with the keys of this group.`,
        };
      case 'unread':
        return UNREAD_KEYS;
    }
  }

  /** Writes the annotation with which users wake a group; the operator acts on each new value once. */
  #wake(key: string): void {
    const { client, clock, log, groups, onWake } = this.#options;
    const group = groups.get(key);
    if (!group) return;
    onWake?.();
    const body = { metadata: { annotations: { [annotations.wakeAt]: formatExactTime(clock.now()) } } };
    inBackground(
      { task: 'wake', object: key },
      async () => {
        await client.patch(endpointGroupResource, refOf(group), { type: 'merge', body });
        log.info('Group is woken', { group: key });
      },
      (error) => log.error('A group could not be woken', { group: key, error }),
    );
  }
}

/** Returns the Secrets that a group needs. */
function secretsOf(settings: GroupSettings): readonly ObjectRef[] {
  const { namespace, keysSecret: name, link } = settings;
  return [
    ...(name === undefined ? [] : [{ namespace, name }]),
    ...(link === 'TLS' ? [clientSecretOf(settings)] : []),
  ];
}

/** Returns the Secret that the operator writes for callers of the group's workers. */
function clientSecretOf({ namespace, name }: GroupSettings): ObjectRef {
  return { namespace, name: clientSecretName(name) };
}

/** Returns the identity; undefined if a part is missing. */
function clientIdentity(data: SecretData): ClientIdentity | undefined {
  const certificate = data.get(clientKeys.certificate);
  const key = data.get(clientKeys.key);
  const authorities = data.get(clientKeys.authorities);
  if (certificate === undefined || key === undefined || authorities === undefined) return undefined;
  return { certificate, key: new Secret(key), authorities };
}

const ENDS = {
  status: 503,
  code: 'gateway_ending',
  message: 'The gateway ends; try again.',
  retryAfterSeconds: 1,
} as const;
const UNKNOWN_POOL = {
  status: 503,
  code: 'group_not_found',
  message: 'The group of this picker (--group) has no gateway, or is not there.',
  retryAfterSeconds: 5,
} as const;

const ENCRYPTED_POOL = {
  status: 503,
  code: 'link_unsupported',
  message:
    'The workers of this group accept only TLS, which a proxy of the Gateway API cannot use for them: set spec.gateway.link to Plain, or call the gateway of gpu-rent.',
} as const;

const LATE_BODY = errorReply({
  status: 408,
  code: 'body_timeout',
  message: 'The body did not arrive in time after a worker was picked (--body-timeout).',
  retryAfterSeconds: 1,
});

const UNKNOWN_GROUP = {
  status: 404,
  code: 'group_not_found',
  message:
    'No group with a gateway is served here: call /NAMESPACE/NAME/..., or the host NAME.NAMESPACE, of an EndpointGroup with spec.gateway.',
} as const;
