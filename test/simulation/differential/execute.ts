import { isObject, type JsonObject, metadataOf, objectsAt, textAt } from '../memory-kube/json.ts';
import { Canonical } from './canonical.ts';
import { Known } from './known.ts';
import { isEventOf, makeLast } from './last-object.ts';
import { type OpenWatch, requireBookmarks } from './open-watch.ts';
import type { Operation, Program } from './operations.ts';
import { notOlderThan, type Place, requestOf, watchPath } from './requests.ts';
import { collectionOf } from './resources.ts';
import type { Reply, Request, Server } from './servers.ts';

/**
 * Runs a program on a server and answers what it said to each operation, without what differs between two servers:
 * to a watch, all that it told until the program had ended.
 */
export async function execute(
  program: Program,
  namespace: string,
  server: Server,
): Promise<readonly JsonObject[]> {
  const run = new Run(program, namespace, server);
  try {
    for (const operation of program.operations) await run.step(operation);
    return await run.end();
  } finally {
    await run.close();
  }
}

class Run {
  readonly #program: Program;
  readonly #server: Server;
  readonly #place: Place;
  readonly #canonical = new Canonical();
  readonly #replies: JsonObject[] = [];
  /** Open watches by the step that opened them. */
  readonly #watches = new Map<number, OpenWatch>();

  constructor(program: Program, namespace: string, server: Server) {
    this.#program = program;
    this.#server = server;
    this.#place = { id: program.id, namespace, known: new Known() };
  }

  async step(operation: Operation): Promise<void> {
    if (operation.type === 'watch') return this.#open(operation);
    const request = requestOf(operation, this.#place);
    const reply =
      operation.type === 'list' ? await this.#allPages(request) : await this.#server.send(request);
    if (operation.type !== 'list') this.#place.known.remember(operation.client, operation.name, reply);
    this.#replies.push(this.#canonical.reply(operation.type, reply));
  }

  /** Returns the replies to all steps. Reads each watch up to an object that is created as an end marker. */
  async end(): Promise<readonly JsonObject[]> {
    if (this.#watches.size === 0) return this.#replies;
    const { id, plural } = this.#program;
    const last = `${id}-end`;
    const { namespace } = this.#place;
    await makeLast(this.#server, { plural, namespace, name: last, labels: { program: id, tier: 'gold' } });
    for (const [step, watch] of this.#watches) {
      await watch.until(`end of the watch that step ${step} of ${id} opened`, isEventOf(last));
      requireBookmarks(watch.events, `${id} step ${step}`);
      const events = watch.events.map((event) => this.#canonical.event(event)).filter(isObject);
      this.#replies[step] = { status: 200, events };
    }
    return this.#replies;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#watches.values()].map((watch) => watch.close()));
  }

  /**
   * Opens a watch. With `any`, a server with a cache may send old state, so this waits until the state includes the
   * newest known version.
   */
  async #open(operation: Extract<Operation, { type: 'watch' }>): Promise<void> {
    const { namespace, known } = this.#place;
    if (operation.from === 'any') {
      const query = new URLSearchParams({ ...notOlderThan(known), limit: '1' });
      const path = `${collectionOf(operation.plural, namespace)}?${query}`;
      await this.#server.send({ method: 'GET', path });
    }
    const watch = await this.#server.watch(watchPath(operation, this.#place));
    this.#watches.set(this.#replies.length, watch);
    this.#replies.push({ status: 200 });
  }

  /**
   * Returns all pages as one list. Page boundaries differ, because the real server filters after it has cut the page.
   */
  async #allPages(request: Request): Promise<Reply> {
    let reply = await this.#server.send(request);
    const items: JsonObject[] = [];
    for (;;) {
      if (reply.status !== 200 || !isObject(reply.body)) return reply;
      items.push(...objectsAt(reply.body, 'items'));
      const next = textAt(metadataOf(reply.body), 'continue');
      if (!next) return { status: 200, body: { ...reply.body, items } };
      reply = await this.#server.send({ ...request, path: nextPage(request.path, next) });
    }
  }
}

/** Returns the path of the next page, without a version: the continue token contains it. */
function nextPage(path: string, token: string): string {
  const [collection = '', search] = path.split('?');
  const query = new URLSearchParams(search);
  query.delete('resourceVersion');
  query.delete('resourceVersionMatch');
  query.set('continue', token);
  return `${collection}?${query}`;
}
