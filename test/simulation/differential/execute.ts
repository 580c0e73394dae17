import { isObject, type JsonObject, metadataOf, objectsAt, textAt } from '../memory-kube/json.ts';
import { Canonical } from './canonical.ts';
import type { Operation, Program, Version } from './programs.ts';
import { collectionOf, GROUPS, KINDS } from './resources.ts';

/** A request as both servers take it. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: JsonObject | readonly JsonObject[];
  readonly contentType?: string;
}

export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

export type Server = (request: Request) => Promise<Reply>;

/** What one server told about a name. */
interface Memory {
  first?: string | undefined;
  latest?: string | undefined;
  uid?: string | undefined;
}

/** Runs a program on a server and answers what it said, without what differs between two servers. */
export async function execute(
  program: Program,
  namespace: string,
  server: Server,
): Promise<readonly unknown[]> {
  const run = new Run(program, namespace, server);
  const said: unknown[] = [];
  for (const operation of program.operations) said.push(await run.step(operation));
  return said;
}

class Run {
  readonly #program: Program;
  readonly #namespace: string;
  readonly #server: Server;
  readonly #memories = new Map<string, Memory>();
  readonly #canonicals = new Canonical();

  constructor(program: Program, namespace: string, server: Server) {
    this.#program = program;
    this.#namespace = namespace;
    this.#server = server;
  }

  async step(operation: Operation): Promise<unknown> {
    const request = this.#request(operation);
    const reply = operation.type === 'list' ? await this.#allPages(request) : await this.#server(request);
    if ('name' in operation) this.#remember(operation, reply);
    return this.#canonical(operation, reply);
  }

  /** All pages as one list: where a page ends differs, since the real server selects after it has cut. */
  async #allPages(request: Request): Promise<Reply> {
    let reply = await this.#server(request);
    const items: JsonObject[] = [];
    for (;;) {
      if (reply.status !== 200 || !isObject(reply.body)) return reply;
      items.push(...objectsAt(reply.body, 'items'));
      const next = textAt(metadataOf(reply.body), 'continue');
      if (!next) return { status: 200, body: { ...reply.body, items } };
      const path = `${request.path}&continue=${encodeURIComponent(next)}`;
      reply = await this.#server({ ...request, path });
    }
  }

  #request(operation: Operation): Request {
    const { plural } = operation;
    const collection = collectionOf(plural, this.#namespace);
    switch (operation.type) {
      case 'create':
        return { method: 'POST', path: collection, body: this.#object(operation) };
      case 'get':
        return { method: 'GET', path: `${collection}/${operation.name}` };
      case 'list': {
        const limit = operation.limit === undefined ? '' : `&limit=${operation.limit}`;
        return { method: 'GET', path: `${collection}?labelSelector=program%3D${this.#program.id}${limit}` };
      }
      case 'replace':
        return { method: 'PUT', path: this.#path(collection, operation), body: this.#object(operation) };
      case 'merge': {
        const resourceVersion = this.#version(operation.name, operation.version);
        const body = resourceVersion
          ? { ...operation.body, metadata: { ...metadataOf(operation.body), resourceVersion } }
          : operation.body;
        const contentType = 'application/merge-patch+json';
        return { method: 'PATCH', path: this.#path(collection, operation), body, contentType };
      }
      case 'json': {
        const contentType = 'application/json-patch+json';
        return {
          method: 'PATCH',
          path: `${collection}/${operation.name}`,
          body: operation.patch,
          contentType,
        };
      }
      case 'apply':
        return {
          method: 'PATCH',
          path: `${collection}/${operation.name}?fieldManager=differential&force=true`,
          body: this.#applied(operation),
          contentType: 'application/apply-patch+yaml',
        };
      case 'delete':
        return {
          method: 'DELETE',
          path: `${collection}/${operation.name}`,
          body: this.#deleteOptions(operation),
        };
    }
  }

  #path(
    collection: string,
    { name, subresource }: { name: string; subresource: string | undefined },
  ): string {
    return `${collection}/${name}${subresource === undefined ? '' : `/${subresource}`}`;
  }

  #object(operation: Extract<Operation, { type: 'create' | 'replace' }>): JsonObject {
    const { plural, name, body } = operation;
    const resourceVersion = operation.type === 'replace' ? this.#version(name, operation.version) : undefined;
    return {
      apiVersion: GROUPS[plural].replace(/^\/apis?\//, ''),
      kind: KINDS[plural],
      ...body,
      metadata: { ...metadataOf(body), name, ...(resourceVersion ? { resourceVersion } : {}) },
    };
  }

  #applied({ plural, name, uid, body }: Extract<Operation, { type: 'apply' }>): JsonObject {
    return {
      apiVersion: GROUPS[plural].replace(/^\/apis?\//, ''),
      kind: KINDS[plural],
      ...body,
      metadata: { ...metadataOf(body), name, ...this.#uid(name, uid) },
    };
  }

  #uid(name: string, uid: 'none' | 'right' | 'wrong'): JsonObject {
    const known = this.#memories.get(name)?.uid;
    if (uid === 'none') return {};
    return { uid: uid === 'right' && known ? known : '00000000-0000-0000-0000-000000000000' };
  }

  #deleteOptions({ name, uid, version }: Extract<Operation, { type: 'delete' }>): JsonObject {
    const resourceVersion = this.#version(name, version);
    const known = this.#memories.get(name)?.uid !== undefined;
    const preconditions = {
      ...(known || uid === 'wrong' ? this.#uid(name, uid) : {}),
      ...(resourceVersion ? { resourceVersion } : {}),
    };
    return { apiVersion: 'v1', kind: 'DeleteOptions', preconditions };
  }

  #version(name: string, version: Version): string | undefined {
    const memory = this.#memories.get(name);
    switch (version) {
      case 'none':
        return undefined;
      case 'bogus':
        return '1';
      case 'first':
        return memory?.first;
      case 'latest':
        return memory?.latest;
    }
  }

  #remember({ name }: { readonly name: string }, { status, body }: Reply): void {
    if (status >= 300 || !isObject(body) || body['kind'] === 'Status') return;
    const metadata = metadataOf(body);
    const version = textAt(metadata, 'resourceVersion');
    const memory = this.#memories.get(name) ?? {};
    this.#memories.set(name, {
      first: memory.first ?? version,
      latest: version,
      uid: textAt(metadata, 'uid'),
    });
  }

  #canonical(operation: Operation, { status, body }: Reply): unknown {
    if (!isObject(body)) return { status, body };
    if (status >= 300) return { status, reason: body['reason'] };
    if (operation.type === 'delete') return { status };
    if (operation.type !== 'list') return { status, object: this.#canonicals.plain(body) };
    return { status, items: objectsAt(body, 'items').map((item) => this.#canonicals.plain(item)) };
  }
}
