import { isObject, type JsonObject, metadataOf, objectAt, textAt } from '../memory-kube/json.ts';
import { Canonical } from './canonical.ts';
import type { OpenWatch } from './open-watch.ts';
import type { Server } from './servers.ts';

/** Kind for this test only: a changed CRD makes the server reopen its storage. */
export const GROUP = 'differential.gpurental.dev';
export const PLURAL = 'leaves';

/** Returns the CRD. Another description makes the real server reopen the kind's storage. */
export const definition = (description: string): JsonObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${PLURAL}.${GROUP}` },
  spec: {
    group: GROUP,
    names: { plural: PLURAL, singular: 'leaf', kind: 'Leaf', listKind: 'LeafList' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', description } },
      },
    ],
  },
});

/** Server whose history can be removed. */
export interface Ground extends Server {
  readonly namespace: string;
  /** Removes all revisions of the store except the newest. */
  compact(): Promise<void>;
  /** Discards everything outside the store, as a restart does; watches end. */
  forget(): Promise<void>;
  /** Resolves once it serves the kind again. */
  ready(): Promise<void>;
}

/** Reply of a server to one step of the scenario, without what differs between two servers. */
export interface StepResult {
  readonly step: string;
  readonly result: JsonObject;
}

/** The step whose answer hangs on the store alone. */
export const LATER_PAGE = 'a later page';

/** Beyond any version that a server has. */
const FUTURE = '999999999';

const NOT_OLDER = { resourceVersionMatch: 'NotOlderThan' } as const;
const STATE = { ...NOT_OLDER, sendInitialEvents: 'true' } as const;

/** Checks versions, continue tokens and open watches after history is removed, and versions in the future. */
export async function playExpiry(ground: Ground): Promise<readonly StepResult[]> {
  const life = new Life(ground);
  for (const name of ['a', 'b', 'c']) await life.create(name);
  const page = await life.list('a first page', { limit: '1' });
  const old = versionOf(page);
  const open = await life.watch({ resourceVersion: old });
  await ground.compact();
  await life.create('d');
  await life.eventSeen('a watch that is open while the store is compacted', open, 'd');
  await ground.forget();
  await open.ended();
  await ground.ready();
  await ground.compact();
  await life.list(LATER_PAGE, { limit: '1', continue: textAt(metadataOf(page), 'continue') ?? '' });
  await life.ends('a watch from an expired version', { resourceVersion: old });
  const now = await life.list('a list that is not older than an expired version', {
    ...NOT_OLDER,
    resourceVersion: old,
  });
  await life.state('the state, not older than an expired version', { ...STATE, resourceVersion: old });
  const latest = await life.watch({ resourceVersion: versionOf(now) });
  const early = await life.watch({ resourceVersion: FUTURE });
  await life.create('e');
  await life.eventSeen('a watch from the newest version', latest, 'e');
  life.note('a watch from a version to come', early);
  await life.list('a list of a version to come', { ...NOT_OLDER, resourceVersion: FUTURE });
  await life.ends('the state of a version to come', { ...STATE, resourceVersion: FUTURE });
  await Promise.all([latest, early].map((watch) => watch.close()));
  return life.results;
}

class Life {
  readonly results: StepResult[] = [];
  readonly #ground: Ground;
  readonly #canonical = new Canonical();
  readonly #path: string;

  constructor(ground: Ground) {
    this.#ground = ground;
    this.#path = `/apis/${GROUP}/v1/namespaces/${ground.namespace}/${PLURAL}`;
  }

  async create(name: string): Promise<void> {
    const body = { apiVersion: `${GROUP}/v1`, kind: 'Leaf', metadata: { name } };
    const reply = await this.#ground.send({ method: 'POST', path: this.#path, body });
    this.#add(`${name} is made`, this.#canonical.reply('create', reply));
  }

  async list(step: string, query: Readonly<Record<string, string>>): Promise<JsonObject> {
    const path = `${this.#path}?${new URLSearchParams(query)}`;
    const reply = await this.#ground.send({ method: 'GET', path });
    this.#add(step, this.#canonical.reply('list', reply));
    return isObject(reply.body) ? reply.body : {};
  }

  watch(query: Readonly<Record<string, string>>): Promise<OpenWatch> {
    const asked = { watch: '1', allowWatchBookmarks: 'true', timeoutSeconds: '60', ...query };
    return this.#ground.watch(`${this.#path}?${new URLSearchParams(asked)}`);
  }

  async eventSeen(step: string, watch: OpenWatch, name: string): Promise<void> {
    await watch.until(`event of ${name}`, (event) => nameIn(event) === name);
    this.note(step, watch);
  }

  async state(step: string, query: Readonly<Record<string, string>>): Promise<void> {
    const watch = await this.watch(query);
    await watch.until('bookmark', ({ type }) => type === 'BOOKMARK');
    this.note(step, watch);
    await watch.close();
  }

  /** Expects the server to end a watch. */
  async ends(step: string, query: Readonly<Record<string, string>>): Promise<void> {
    const watch = await this.watch(query);
    await watch.ended();
    this.note(step, watch);
  }

  note(step: string, { events }: OpenWatch): void {
    this.#add(step, { events: events.map((event) => this.#canonical.event(event)).filter(isObject) });
  }

  #add(step: string, result: JsonObject): void {
    this.results.push({ step, result });
  }
}

const versionOf = (list: JsonObject): string => textAt(metadataOf(list), 'resourceVersion') ?? '';

const nameIn = (event: JsonObject): string | undefined =>
  textAt(metadataOf(objectAt(event, 'object')), 'name');
