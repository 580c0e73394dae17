import { gzipSync } from 'node:zlib';
import { type Clock, sleep } from '../../lib/clock.ts';
import { type Answer, type HttpReply, JSON_TYPE } from '../calls/answer.ts';
import type { ReplyFaultName } from '../fault-catalogue.ts';
import { pageToken } from '../instances/listing.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import type { ActiveFault } from '../tables/faults.ts';
import type { World } from '../world/world.ts';
import { wronged } from './wrong-field.ts';

/* Faults that change a finished reply, after its effect has happened. */

const MEGABYTE = 1_000_000;
const HUGE_BYTES = 100 * MEGABYTE;
const SLOW_SECONDS = 600;
/** Page token of a list by id, with no row: it returns the first page again. */
const FIRST_PAGE = pageToken([{ column: 'id', descending: false }], [0]);

/** Sources of a mutation in addition to the reply and the fault. */
interface MutationSource {
  readonly clock: Clock;
  readonly world: World;
}

type Mutation = (reply: HttpReply, fault: ActiveFault, source: MutationSource) => Answer;

const MUTATIONS: Readonly<Record<ReplyFaultName, Mutation>> = {
  'rubbish-reply': (reply) => ({
    ...reply,
    body: Uint8Array.from([0x7b, 0xff, 0xfe, 0x00, 0x9c, 0x22, 0x3a, 0x3c]),
  }),
  'huge-reply': (reply) => streamed(reply, hugeBody()),
  'slow-loris': (reply, fault, { clock }) =>
    streamed(reply, slowBody(reply, clock, fault.seconds ?? SLOW_SECONDS)),
  'gzip-bomb': (reply) => ({
    ...reply,
    headers: { ...reply.headers, 'content-encoding': 'gzip' },
    body: gzipSync(Buffer.alloc(HUGE_BYTES, ' ')),
  }),
  'empty-list': (reply) => edited(reply, (body, list) => ({ ...withCounts(body, 0), [list]: [] })),
  'truncated-list': (reply) =>
    edited(reply, (body, list, rows) => ({ ...body, [list]: rows.slice(0, Math.floor(rows.length / 2)) })),
  'next-token-loop': (reply) => edited(reply, (body) => ({ ...body, next_token: FIRST_PAGE })),
  'odd-row': (reply) =>
    edited(reply, (body, list, rows) => ({
      ...body,
      [list]: rows.map((row, index) => (index === 0 ? oddRow(row) : row)),
    })),
  'wrong-field': (reply, fault, { world }) => {
    const body = wrongedBody(reply, fault, world);
    return body ? { ...reply, body: JSON.stringify(body) } : reply;
  },
  'price-missing': (reply) =>
    edited(reply, (body, list, rows) => ({ ...body, [list]: rows.map(withoutPrice) })),
};

/** Faults that change a list, and have no effect without one. */
const OF_LISTS: ReadonlySet<ReplyFaultName> = new Set([
  'empty-list',
  'truncated-list',
  'next-token-loop',
  'odd-row',
  'price-missing',
]);

function wrongedBody(reply: HttpReply, fault: ActiveFault, world: World): JsonObject | undefined {
  const { wrong } = fault;
  const body = reply.status === 200 && wrong ? bodyOf(reply) : undefined;
  return body && wrong ? wronged(body, { world, fault: { ...fault, wrong } }) : undefined;
}

/** Returns true if this very fault changes anything in a reply of its kind. */
export function changesReply(reply: HttpReply, fault: ActiveFault, world: World): boolean {
  return fault.name !== 'wrong-field' || wrongedBody(reply, fault, world) !== undefined;
}

/** Returns true if faults of that name apply to this reply. */
export function appliesTo(name: ReplyFaultName, reply: HttpReply): boolean {
  if (!OF_LISTS.has(name)) return true;
  const body = bodyOf(reply);
  if (name === 'next-token-loop') return body !== undefined && 'next_token' in body;
  return body !== undefined && listKey(body) !== undefined;
}

/** Returns the reply with the change of the fault. */
export function mutateReply(
  reply: HttpReply,
  fault: ActiveFault & { readonly name: ReplyFaultName },
  source: MutationSource,
): Answer {
  return MUTATIONS[fault.name](reply, fault, source);
}

function streamed(reply: HttpReply, chunks: AsyncIterable<Uint8Array>): Answer {
  return { type: 'stream', status: reply.status, headers: reply.headers, chunks };
}

async function* hugeBody(): AsyncIterable<Uint8Array> {
  const filler = Buffer.alloc(MEGABYTE, 'x');
  yield Buffer.from('{"instances":[],"msg":"');
  for (let sent = 0; sent < HUGE_BYTES; sent += MEGABYTE) yield filler;
  yield Buffer.from('"}');
}

async function* slowBody(reply: HttpReply, clock: Clock, seconds: number): AsyncIterable<Uint8Array> {
  const body = Buffer.from(reply.body);
  for (let second = 0; second < Math.min(seconds, body.length); second += 1) {
    yield body.subarray(second, second + 1);
    await sleep(clock, 1000);
  }
}

const LIST_KEYS = ['instances', 'offers', 'volumes', 'results', 'apikeys', 'templates'] as const;
type Edit = (body: JsonObject, list: string, rows: readonly Json[]) => JsonObject;

function bodyOf(reply: HttpReply): JsonObject | undefined {
  if (typeof reply.body !== 'string' || reply.headers['content-type'] !== JSON_TYPE) return undefined;
  const body = JSON.parse(reply.body) as Json;
  return isObject(body) ? body : undefined;
}

const listKey = (body: JsonObject): string | undefined =>
  LIST_KEYS.find((key) => body[key] !== undefined && body[key] !== null);

/**
 * Returns the edited reply. Replies without a list stay unchanged; one instance counts as a list of one if rows are
 * edited.
 */
function edited(reply: HttpReply, edit: Edit): Answer {
  const body = bodyOf(reply);
  const list = body && listKey(body);
  if (!body || !list) return reply;
  const rows = body[list];
  if (Array.isArray(rows))
    return { ...reply, body: JSON.stringify(edit(body, list, rows as readonly Json[])) };
  const single = edit(body, list, [rows ?? null])[list];
  const [row = rows] = Array.isArray(single) ? (single as readonly Json[]) : [];
  return { ...reply, body: JSON.stringify({ ...body, [list]: row ?? null }) };
}

function withCounts(body: JsonObject, count: number): JsonObject {
  const counts = ['instances_found', 'total_instances', 'count', 'total'].filter((key) => key in body);
  return {
    ...body,
    ...Object.fromEntries(counts.map((key) => [key, count])),
    ...('next_token' in body ? { next_token: null } : {}),
  };
}

/** Returns a row that a careful client skips without losing the other rows. */
function oddRow(row: Json): Json {
  return isObject(row)
    ? {
        ...row,
        id: null,
        num_gpus: 1.5,
        dph_total: 'free',
        actual_status: 7,
        label: ['a'],
        surprise: { deep: [null] },
      }
    : row;
}

const PRICES = [
  'dph_total',
  'dph_base',
  'min_bid',
  'discounted_dph_total',
  'storage_cost',
  'storage_total_cost',
  'search',
  'instance',
];

function withoutPrice(row: Json): Json {
  if (!isObject(row)) return row;
  return Object.fromEntries(Object.entries(row).filter(([name]) => !PRICES.includes(name)));
}
