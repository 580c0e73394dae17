import { microDollars } from '../../lib/money.ts';
import { characters, integer, list, number, pathId, readField, required, text } from '../calls/fields.ts';
import { callerOf, endpoint, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import { readEnv } from '../instances/container-options.ts';
import { modelledLog, shownLog } from '../instances/container-program.ts';
import { recycleContract } from '../instances/contract-state.ts';
import { instanceRow } from '../instances/instance-row.ts';
import { findTemplate, mergeTemplate } from '../instances/templates.ts';
import { isObject, type Json, type JsonObject, textOf } from '../json.ts';
import { type MachineFiles, modelledFiles } from '../machine-files.ts';
import { readFileCommand, runFileCommand } from '../machines/file-command.ts';
import { invalidArgs, notFound, Refusal } from '../refusal.ts';
import { atNewPrice } from '../steps/billing.ts';
import type { Contract, PriceIncrease } from '../tables/contracts.ts';
import { contractsOf, creditMicros, ratePerHour, rebill } from '../world/ledger.ts';
import { contractOfPath } from './instances.ts';
import { knownKey, PUBLIC_KEY_BODY, readPublicKey } from './ssh-keys.ts';

/* Operations of the public service on an instance, except starting, stopping and destroying it. */

const SUCCESS = json({ success: true });

const BID = { price: number };

/** Changes the bid; null is the price that wins now. */
function changeBid(ctx: RouteContext<typeof BID>): Reply {
  const contract = contractOfPath(ctx);
  if (!contract.isBid) throw invalidArgs(`Instance ${contract.id} was not rented with a bid.`);
  const winningMicros = ctx.world.tables.offers[contract.offerId]?.minBidPerHour ?? 0;
  const price = ctx.body.price ?? winningMicros / 1e6;
  const { minBid, maxBid } = ctx.settings.limits;
  if (price < minBid || price > maxBid) {
    throw invalidArgs(`price must lie between ${minBid} and ${maxBid} dollars an hour.`);
  }
  const bidPerHour = microDollars(price) ?? 0;
  const computes = ratePerHour(contract) > contract.diskPricePerHour;
  const bid = { ...contract, bidPerHour };
  const rates = { gpuPerHour: bidPerHour, diskPerHour: contract.diskPricePerHour };
  ctx.write.put('contracts', computes ? rebill(bid, ctx.now, rates) : bid);
  return SUCCESS;
}

/** Returns the credit that no earlier prepayment reserved. */
function freeCreditMicros(ctx: RouteContext): number {
  const { user } = callerOf(ctx);
  const prepaid = contractsOf(ctx.world, user.id).reduce((sum, row) => sum + row.prepaidMicros, 0);
  return creditMicros(ctx.world, user, ctx.now) - prepaid;
}

const PREPAYMENT = { amount: number };

/** Reserves credit for one instance; the reply shows a discount and its months, and prices stay. */
function prepay(ctx: RouteContext<typeof PREPAYMENT>): Reply {
  const contract = contractOfPath(ctx);
  const amount = ctx.body.amount;
  if (amount === undefined || amount <= 0) throw invalidArgs('amount must be a number of dollars above 0.');
  if (amount * 1e6 > freeCreditMicros(ctx)) {
    throw new Refusal(400, 'insufficient_credit', `Your credit does not cover ${amount} dollars.`);
  }
  ctx.write.put('contracts', {
    ...contract,
    prepaidMicros: contract.prepaidMicros + Math.round(amount * 1e6),
  });
  const hours = (amount * 1e6) / Math.max(1, ratePerHour(contract));
  const months = Math.round((hours / ctx.settings.billing.hoursPerMonth) * 1000) / 1000;
  return json({ success: true, timescale: months, discount_rate: 0.1 });
}

/** Changes image, environment or script; the container is recreated with them. */
function updateTemplate(ctx: RouteContext): Reply {
  const contract = contractOfPath(ctx);
  const machine = ctx.world.tables.machines[contract.machineId];
  if (!machine)
    throw new Refusal(404, 'no_such_instance', `Instance ${contract.id} has no machine any more.`);
  const options = { now: ctx.now, settings: ctx.settings, seed: ctx.world.seed, machine };
  const updated = recycleContract(retemplated(ctx, contract), options);
  ctx.write.put('contracts', updated);
  const row = instanceRow(updated, { world: ctx.world, profile: ctx.profile });
  return json({ success: true, updated_instance: row });
}

function retemplated(ctx: RouteContext, contract: Contract): Contract {
  const template = findTemplate(ctx.world, ctx.json);
  const body = template ? mergeTemplate(template, ctx.json) : withoutNulls(ctx.json);
  const named = template ? { templateId: template.id, templateHash: template.hashId } : {};
  return {
    ...contract,
    ...named,
    image: readField(text, body, 'image') ?? contract.image,
    onstart: readField(text, body, 'onstart') ?? contract.onstart,
    env: body.env === undefined ? contract.env : readEnv(body.env),
    args: readField(list, body, 'args')?.map(textOf) ?? contract.args,
  };
}

function withoutNulls(body: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

const SNAPSHOT = { container_registry: required(text), personal_repo: required(text) };

function takeSnapshot(ctx: RouteContext<typeof SNAPSHOT>): Reply {
  const contract = contractOfPath(ctx);
  const { container_registry: _registry, personal_repo: _repository } = ctx.body;
  return json({ success: true, msg: `Snapshot of instance ${contract.id} started.` });
}

const LOGS = { daemon_logs: text, tail: number, filter: text };

function requestLogs(ctx: RouteContext<typeof LOGS>): Reply {
  const contract = contractOfPath(ctx);
  if (contract.actualStatus === 'stopped' && !ctx.settings.containers.logsWhenStopped) {
    return json({ success: false, error: 'not_running', msg: `Instance ${contract.id} does not run.` });
  }
  const query = new URLSearchParams({
    kind: ctx.body.daemon_logs === 'true' ? 'daemon' : 'container',
  });
  const tail = ctx.body.tail;
  if (tail !== undefined) query.set('tail', String(Math.max(0, Math.floor(tail))));
  const filter = ctx.body.filter;
  if (filter) query.set('filter', filter);
  const url = `${ctx.origin}/results/logs/${contract.id}?${query}`;
  return json({ success: true, result_url: url, msg: `Logs of instance ${contract.id} are at ${url}` });
}

const COMMAND = { command: required(text) };

/**
 * Runs `ls`, `rm` or `du` once, on the files of a machine in any state. Its output is at `result_url`; if the host is
 * offline, nothing runs and no output is written.
 */
function execute(ctx: RouteContext<typeof COMMAND>): Reply {
  const contract = contractOfPath(ctx);
  const { command } = ctx.body;
  const length = characters(command);
  if (length > ctx.settings.limits.command)
    throw invalidArgs(`command has ${length} characters; ${ctx.settings.limits.command} are allowed.`);
  const parsed = readFileCommand(command);
  const result = Buffer.from(ctx.random.bytes(8)).toString('hex');
  if (ctx.world.tables.machines[contract.machineId]?.state === 'up') {
    const output = runFileCommand(parsed, filesOf(ctx, contract), ctx.settings.containers);
    keepResult(ctx, contract.id, { result, output });
  }
  const url = `${ctx.origin}/results/command/${contract.id}?${new URLSearchParams({ result })}`;
  return json({ success: true, result_url: url, writeable_path: `/var/lib/simulated/C.${contract.id}/` });
}

function filesOf(ctx: RouteContext, contract: Contract): MachineFiles {
  if (ctx.disks) return ctx.disks.files(contract);
  return modelledFiles(contract, (files) => ctx.write.put('contracts', { ...contract, files }));
}

/** Number of outputs that are kept for each machine. */
const KEPT_RESULTS = 8;

function resultsOf({ notes }: Contract): readonly JsonObject[] {
  return Array.isArray(notes.results) ? (notes.results as readonly Json[]).filter(isObject) : [];
}

function keepResult(ctx: RouteContext, id: number, result: JsonObject): void {
  const contract = ctx.world.tables.contracts[id];
  if (!contract) return;
  const results = [...resultsOf(contract), result].slice(-KEPT_RESULTS);
  ctx.write.put('contracts', { ...contract, notes: { ...contract.notes, results } });
}

/** Returns the text of a result address. Anyone with the address may read it, as with a signed link. */
function showResult(ctx: RouteContext): Reply {
  const contract = ctx.world.tables.contracts[pathId(ctx.params.id)];
  const body = contract && resultText(ctx, contract);
  if (body === undefined) throw notFound('This result is no longer there.');
  return { type: 'text', status: 200, contentType: 'text/plain', body };
}

function resultText(ctx: RouteContext, contract: Contract): string | undefined {
  if (ctx.params.kind === 'logs') return `${logLines(ctx, contract).join('\n')}\n`;
  const result = ctx.query.get('result');
  const output = resultsOf(contract).find((kept) => kept.result === result)?.output;
  return typeof output === 'string' ? output : undefined;
}

/** Maximum lines of a log. */
const MAX_LOG_LINES = 10_000;

function logLines(ctx: RouteContext, contract: Contract): readonly string[] {
  const lines = containerLog(ctx, contract);
  const filter = ctx.query.get('filter');
  const shown = filter ? lines.filter((line) => line.includes(filter)) : lines;
  const tail = Number(ctx.query.get('tail') ?? Number.NaN);
  return Number.isFinite(tail) && tail > 0 ? shown.slice(-tail) : shown;
}

function containerLog(ctx: RouteContext, contract: Contract): readonly string[] {
  const isReal = ctx.disks !== undefined && ctx.query.get('kind') !== 'daemon';
  const lines = isReal ? ctx.disks.log(contract, MAX_LOG_LINES) : modelledLog(contract, ctx);
  return shownLog(lines, ctx.settings.containers);
}

/** Returns the price increases of existing machines: a destroyed one has no price. */
function ownIncreases(ctx: RouteContext): readonly PriceIncrease[] {
  const { id } = callerOf(ctx).user;
  const { priceIncreases, contracts } = ctx.world.tables;
  return Object.values(priceIncreases).filter(
    ({ userId, contractId }) => userId === id && contracts[contractId] !== undefined,
  );
}

function pendingIncreases(ctx: RouteContext): Reply {
  const rows = ownIncreases(ctx).map((increase) => ({
    id: increase.id,
    pending_price_increase_id: increase.id,
    instance_id: increase.contractId,
    contract_id: increase.contractId,
    old_dph_base: (ctx.world.tables.contracts[increase.contractId]?.gpuPricePerHour ?? 0) / 1e6,
    new_dph_base: increase.gpuPricePerHour / 1e6,
    created_at: increase.announcedAt / 1000,
    effective_at: increase.dueAt / 1000,
  }));
  return json({ success: true, pending_price_increases: rows });
}

const INCREASE = { pending_price_increase_id: required(integer) };

function answeredIncrease(ctx: RouteContext<typeof INCREASE>): PriceIncrease {
  const id = ctx.body.pending_price_increase_id;
  const increase = ownIncreases(ctx).find((row) => row.id === id);
  if (!increase)
    throw new Refusal(404, 'no_pending_price_increase', `There is no pending price increase ${id}.`);
  return increase;
}

function acceptIncrease(ctx: RouteContext<typeof INCREASE>): Reply {
  const increase = answeredIncrease(ctx);
  const contract = ctx.world.tables.contracts[increase.contractId];
  if (contract) ctx.write.put('contracts', atNewPrice(contract, increase, ctx.now));
  ctx.write.remove('priceIncreases', increase.id);
  return SUCCESS;
}

function rejectIncrease(ctx: RouteContext<typeof INCREASE>): Reply {
  ctx.write.remove('priceIncreases', answeredIncrease(ctx).id);
  return SUCCESS;
}

const WRITE = { category: 'instance_write' } as const;

export const instanceMoreRoutes: readonly Route[] = [
  endpoint('PUT /api/v0/instances/bid_price/:id', { ...WRITE, body: BID }, changeBid),
  endpoint('PUT /api/v0/instances/prepay/:id', { ...WRITE, body: PREPAYMENT }, prepay),
  endpoint('PUT /api/v0/instances/update_template/:id', WRITE, updateTemplate),
  endpoint('POST /api/v0/instances/take_snapshot/:id', { ...WRITE, body: SNAPSHOT }, takeSnapshot),
  endpoint('PUT /api/v0/instances/request_logs/:id', { category: 'instance_read', body: LOGS }, requestLogs),
  endpoint('PUT /api/v0/instances/command/:id', { ...WRITE, pause: 'command', body: COMMAND }, execute),
  endpoint('GET /results/:kind/:id', { category: null, access: 'open' }, showResult),
  endpoint('GET /api/v0/instances/pending-price-increases', { category: 'instance_read' }, pendingIncreases),
  endpoint('PUT /api/v0/instances/accept-price-increase', { ...WRITE, body: INCREASE }, acceptIncrease),
  endpoint('PUT /api/v0/instances/reject-price-increase', { ...WRITE, body: INCREASE }, rejectIncrease),
];

/* Keys of one instance: a container can get one after it was rented (specification 4.5). */

function keysOf(contract: Contract): readonly JsonObject[] {
  const keys = contract.notes.sshKeys;
  return Array.isArray(keys) ? (keys as readonly Json[]).filter(isObject) : [];
}

function keep(ctx: RouteContext, contract: Contract, sshKeys: readonly JsonObject[]): void {
  ctx.write.put('contracts', { ...contract, notes: { ...contract.notes, sshKeys } });
}

function listKeys(ctx: RouteContext): Reply {
  return json({ success: true, ssh_keys: keysOf(contractOfPath(ctx)) });
}

/** Attaches a key: one of the account keeps its id, any other gets one for this instance. */
function attach(ctx: RouteContext<typeof PUBLIC_KEY_BODY>): Reply {
  const contract = contractOfPath(ctx);
  const text = readPublicKey(ctx);
  const attached = keysOf(contract).find(({ key }) => key === text);
  const row = attached ?? { id: knownKey(ctx, text)?.id ?? ctx.write.nextId('sshKey'), key: text };
  if (!attached) keep(ctx, contract, [...keysOf(contract), row]);
  return json({ success: true, key: row, msg: 'SSH key added to instance.' });
}

function detach(ctx: RouteContext): Reply {
  const contract = contractOfPath(ctx);
  const rest = keysOf(contract).filter(({ id }) => String(id) !== ctx.params.key);
  if (rest.length === keysOf(contract).length) {
    throw new Refusal(400, 'no_ssh_key', `Instance ${contract.id} has no SSH key ${ctx.params.key}.`);
  }
  keep(ctx, contract, rest);
  return json({ success: true });
}

export const instanceSshRoutes: readonly Route[] = [
  endpoint('GET /api/v0/instances/:id/ssh', { category: 'instance_read' }, listKeys),
  endpoint('POST /api/v0/instances/:id/ssh', { ...WRITE, body: PUBLIC_KEY_BODY }, attach),
  endpoint('PUT /api/v0/instances/:id/ssh', { ...WRITE, body: PUBLIC_KEY_BODY }, attach),
  endpoint('DELETE /api/v0/instances/:id/ssh/:key', WRITE, detach),
];
