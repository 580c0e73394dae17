import { readListQuery } from '../instances/list-query.ts';
import { pageOf } from '../instances/paging.ts';
import type { JsonObject } from '../json.ts';
import { contractMicros, creditMicros, ledger, secondOf } from '../ledger.ts';
import { callerOf, json, type Reply, type Route, type RouteContext } from '../route.ts';
import { endpoint } from './endpoint.ts';

/* Bills, drawn from the ledger: one charge per contract. */

interface Charge {
  readonly id: number;
  readonly row: JsonObject;
}

/** Charges of the caller, oldest first, by the time that a contract ran in the span asked for. */
function chargesOf(ctx: RouteContext): readonly Charge[] {
  const userId = callerOf(ctx).user.id;
  const mine = new Set(
    [...Object.values(ctx.world.tables.contracts), ...Object.values(ctx.world.tables.endedContracts)]
      .filter((contract) => contract.userId === userId)
      .map((contract) => contract.id),
  );
  const [from, to] = [secondsOf(ctx, 'sdate', 0), secondsOf(ctx, 'edate', Number.POSITIVE_INFINITY)];
  return ledger(ctx.world)
    .contracts.filter(
      (row) => mine.has(row.id) && row.start <= to && (row.end ?? Number.POSITIVE_INFINITY) >= from,
    )
    .map((row) => ({
      id: row.id,
      row: {
        id: row.id,
        instance_id: row.id,
        type: 'charge',
        description: `Instance ${row.id}`,
        label: row.label,
        amount: row.dollars,
        start: row.start,
        end: row.end,
        timestamp: row.start,
      },
    }));
}

function secondsOf(ctx: RouteContext, name: string, fallback: number): number {
  const text = ctx.query.get(name);
  const value = text === null || text === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : fallback;
}

function invoices(ctx: RouteContext): Reply {
  const { user } = callerOf(ctx);
  const charges = chargesOf(ctx);
  const live = Object.values(ctx.world.tables.contracts).filter((contract) => contract.userId === user.id);
  const running = live.reduce((sum, contract) => sum + contractMicros(contract, ctx.now), 0);
  return json({
    success: true,
    invoices: charges.map(({ row }) => row),
    current: {
      charges: running / 1e6,
      credit: creditMicros(ctx.world, user, ctx.now) / 1e6,
      at: secondOf(ctx.now),
    },
  });
}

function paged(ctx: RouteContext): Reply {
  const query = readListQuery(ctx.query, { ...ctx.settings.lists, maxPage: 100 }, new Set());
  const charges = chargesOf(ctx);
  const page = pageOf(charges, query, (charge, column) => charge.row[column]);
  return json({
    success: true,
    results: page.rows.map(({ row }) => row),
    count: page.rows.length,
    total: page.found,
    next_token: page.nextToken,
  });
}

export const billingRoutes: readonly Route[] = [
  endpoint('GET /api/v0/users/me/invoices', { category: 'billing_read' }, invoices),
  endpoint('GET /api/v1/invoices', { category: 'billing_read' }, paged),
  endpoint('GET /api/v0/invoices', { category: 'billing_read' }, paged),
  endpoint('GET /api/v0/charges', { category: 'billing_read' }, paged),
  endpoint('GET /api/v0/users/me/machine-earnings', { category: 'billing_read' }, () =>
    json({ success: true, per_machine: [], per_day: [], summary: { total_gpu: 0, total_stor: 0 } }),
  ),
];
