import { callerOf, endpoint, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import { pageOf, readListQuery } from '../instances/listing.ts';
import { type JsonObject, ownValue } from '../json.ts';
import { contractMicros, creditMicros, type LedgerRow, ledger, secondOf } from '../world/ledger.ts';

/* Bills, drawn from the ledger: a charge per contract and volume, an invoice per payment. */

interface Bill {
  readonly id: number;
  readonly row: JsonObject;
}

type Kind = 'instance' | 'volume';

/** Returns the caller's rentals and their kinds. */
function ownContracts(ctx: RouteContext): ReadonlyMap<number, Kind> {
  const { tables } = ctx.world;
  const { id } = callerOf(ctx).user;
  const idsOf = (rows: readonly { readonly id: number; readonly userId: number }[], kind: Kind) =>
    rows.filter(({ userId }) => userId === id).map((row) => [row.id, kind] as const);
  return new Map([
    ...idsOf([...Object.values(tables.volumes), ...Object.values(tables.endedVolumes)], 'volume'),
    ...idsOf([...Object.values(tables.contracts), ...Object.values(tables.endedContracts)], 'instance'),
  ]);
}

/** Returns the caller's rows of the ledger. */
function ownCosts(ctx: RouteContext): readonly (LedgerRow & { readonly kind: Kind })[] {
  const kinds = ownContracts(ctx);
  return ledger(ctx.world).contracts.flatMap((cost) => {
    const kind = kinds.get(cost.id);
    return kind === undefined ? [] : [{ ...cost, kind }];
  });
}

const titleOf = (kind: Kind, id: number): string => `${kind === 'volume' ? 'Volume' : 'Instance'} ${id}`;

/** Serves `GET /users/me/invoices`: charges of contracts that ran in the requested span. */
function invoices(ctx: RouteContext): Reply {
  const { user } = callerOf(ctx);
  const [from, to] = [secondsOf(ctx, 'sdate', 0), secondsOf(ctx, 'edate', Number.POSITIVE_INFINITY)];
  const costs = ownCosts(ctx).filter(
    ({ start, end }) => start <= to && (end ?? Number.POSITIVE_INFINITY) >= from,
  );
  const live = Object.values(ctx.world.tables.contracts).filter((contract) => contract.userId === user.id);
  const running = live.reduce((sum, contract) => sum + contractMicros(contract, ctx.now), 0);
  return json({
    success: true,
    invoices: costs.map(({ id, label, start, end, dollars, kind }) => ({
      id,
      instance_id: id,
      type: 'charge',
      description: titleOf(kind, id),
      label,
      amount: dollars,
      start,
      end,
      timestamp: start,
    })),
    current: {
      charges: running / 1e6,
      credit: creditMicros(ctx.world, user, ctx.now) / 1e6,
      at: secondOf(ctx.now),
    },
  });
}

function secondsOf(ctx: RouteContext, name: string, fallback: number): number {
  const text = ctx.query.get(name);
  const value = text === null || text === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : fallback;
}

/** Returns one charge per contract; `day` is its last billed day. */
function charges(ctx: RouteContext): readonly Bill[] {
  return ownCosts(ctx).map(({ id, label, start, end, dollars, kind }) => {
    const until = end ?? secondOf(ctx.now);
    const row = {
      id,
      instance_id: id,
      type: kind,
      source: `${kind}-${id}`,
      description: titleOf(kind, id),
      amount: dollars,
      start,
      end: until,
      day: until,
      items: [],
      metadata: { label },
    };
    return { id, row };
  });
}

/** Returns the payments: the credit that the account began with. */
function payments(ctx: RouteContext): readonly Bill[] {
  const { user } = callerOf(ctx);
  const when = secondOf(user.createdAt);
  const row = {
    id: user.id,
    type: 'credit',
    source: 'stripe_payments',
    service: 'stripe_payments',
    description: 'Simulated payment',
    amount: user.depositedMicros / 1e6,
    amount_cents: Math.round(user.depositedMicros / 1e4),
    start: when,
    end: when,
    when,
    items: [],
    metadata: { invoice_id: user.id },
  };
  return [{ id: user.id, row }];
}

/** Returns a page of bills; `latest_first` reverses the order. */
function paged(billsOf: (ctx: RouteContext) => readonly Bill[]): (ctx: RouteContext) => Reply {
  return (ctx) => {
    const query = readListQuery(ctx.query, { ...ctx.settings.lists, maxPage: 100 }, new Set());
    const newestFirst = ctx.query.get('latest_first') === 'true';
    const order = newestFirst ? [...query.order, { column: 'start', descending: true }] : query.order;
    const page = pageOf(billsOf(ctx), { ...query, order }, (bill, column) => ownValue(bill.row, column));
    return json({
      success: true,
      results: page.rows.map(({ row }) => row),
      count: page.rows.length,
      total: page.found,
      next_token: page.nextToken,
    });
  };
}

export const billingRoutes: readonly Route[] = [
  endpoint('GET /api/v0/users/me/invoices', { category: 'billing_read' }, invoices),
  endpoint('GET /api/v1/invoices', { category: 'billing_read' }, paged(payments)),
  endpoint('GET /api/v0/invoices', { category: 'billing_read' }, paged(payments)),
  endpoint('GET /api/v0/charges', { category: 'billing_read' }, paged(charges)),
  endpoint('GET /api/v0/users/me/machine-earnings', { category: 'billing_read' }, () =>
    json({ success: true, per_machine: [], per_day: [], summary: { total_gpu: 0, total_stor: 0 } }),
  ),
];
