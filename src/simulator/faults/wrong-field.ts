import { anything, fieldsOf, text } from '../calls/fields.ts';
import { CHANGES, type ChangeName } from '../fault-catalogue.ts';
import { instanceRow } from '../instances/instance-row.ts';
import { isObject, type Json, type JsonObject, ownValue } from '../json.ts';
import { badRequest } from '../refusal.ts';
import type { Contract } from '../tables/contracts.ts';
import type { ActiveFault } from '../tables/faults.ts';
import { chance } from '../world/chance.ts';
import { userRow } from '../world/user-row.ts';
import type { World } from '../world/world.ts';

/*
 * One field of a reply that is wrong: of a row of a list or a search, of a single machine, or of a reply that has no rows.
 * The same fault changes every reply that it strikes in the same way. PURE.
 */

/** Value of `field` for a fault that changes all fields of a row except its id. */
export const ALL_FIELDS = '*';
const ID = 'id';
const NEW_CONTRACT = 'new_contract';
const LISTS = ['instances', 'offers'] as const;

/** The changed field. */
export type WrongField = NonNullable<ActiveFault['wrong']>;

const WRONG = { field: text, change: text, value: anything };

/** Reads `field`, `change` and `value`. Throws a 400 `bad_request` Refusal for an invalid combination. */
export function readWrongField(given: JsonObject): WrongField {
  const body = fieldsOf(WRONG, () => given);
  const field = body.field ?? null;
  const name = body.change ?? null;
  const change = CHANGES.find((known) => known === name) ?? null;
  const value = scalarOf(body.value);
  if (name !== null && change === null)
    throw badRequest(`change: "${name}" is none of ${CHANGES.join(', ')}.`);
  if (change === 'set' && value === undefined) throw badRequest('change "set" needs a value.');
  if ((change === 'times' || change === 'plus') && typeof value !== 'number')
    throw badRequest(`change "${change}" needs a number as value.`);
  if (field === ALL_FIELDS && change !== 'other-row' && change !== 'other-login' && change !== 'stale')
    throw badRequest('field "*" needs the change other-row, other-login or stale.');
  return { field, change, ...(value !== undefined && { value }) };
}

/** Throws a 400 `bad_request` Refusal for a list or an object. */
function scalarOf(value: Json | undefined): string | number | boolean | null | undefined {
  if (typeof value !== 'object' || value === null) return value;
  throw badRequest('value must be a text, a number, true, false or null.');
}

/** Sources of a changed reply in addition to its body. */
export interface WrongContext {
  readonly world: World;
  readonly fault: ActiveFault & { readonly wrong: WrongField };
}

/** Returns the body with the changed field; undefined if the fault changes nothing in it. */
export function wronged(body: JsonObject, context: WrongContext): JsonObject | undefined {
  const list = LISTS.find((name) => isObject(body[name] ?? null) || Array.isArray(body[name]));
  if (list === undefined)
    return isNamed(context) || isAbsent(body) ? undefined : changedRow(body, [body], context);
  const rows = body[list];
  if (!Array.isArray(rows)) {
    const row = rows as JsonObject;
    const changed = concerns(row, context) ? changedRow(row, [row], context) : undefined;
    return changed && { ...body, [list]: changed };
  }
  const all = (rows as readonly Json[]).filter(isObject);
  const changed = new Map(
    all.flatMap((row) => {
      const other = concerns(row, context) ? changedRow(row, all, context) : undefined;
      return other ? [[row as Json, other as Json] as const] : [];
    }),
  );
  if (changed.size === 0) return undefined;
  return { ...body, [list]: (rows as readonly Json[]).map((row) => changed.get(row) ?? row) };
}

/** Returns true for the reply to a read of a destroyed machine. */
const isAbsent = (body: JsonObject): boolean => LISTS.some((name) => body[name] === null);

/** Returns true if the fault names a machine: a reply without rows then does not match. */
const isNamed = ({ fault }: WrongContext): boolean => fault.instance !== null || fault.host !== null;

function concerns(row: JsonObject, { fault }: WrongContext): boolean {
  if (fault.instance !== null && row[ID] !== fault.instance) return false;
  return fault.host === null || row.host_id === fault.host;
}

function changedRow(
  row: JsonObject,
  rows: readonly JsonObject[],
  context: WrongContext,
): JsonObject | undefined {
  const { world, fault } = context;
  const names = Object.keys(row).sort();
  const field = fault.wrong.field ?? names[Math.floor(chance(world.seed, fault.id, 1) * names.length)] ?? ID;
  if (field === ALL_FIELDS) {
    const other = otherRow(row, rows, { ...context, change: fault.wrong.change ?? 'other-row' });
    return other && { ...other, [ID]: row[ID] ?? null };
  }
  if (fault.wrong.change !== 'set' && ownValue(row, field) === undefined) return undefined;
  return changedField(row, field, { rows, context });
}

interface FieldOptions {
  readonly rows: readonly JsonObject[];
  readonly context: WrongContext;
}

/**
 * Returns the row after the first change with an effect: the change of the fault, or a random one and its successors.
 */
function changedField(row: JsonObject, field: string, options: FieldOptions): JsonObject | undefined {
  for (const change of changesFor(row[field] ?? null, options.context)) {
    const changed = afterChange(row, field, { ...options, ...change });
    if (changed) return changed;
  }
  return undefined;
}

function afterChange(
  row: JsonObject,
  field: string,
  { rows, context, change, value }: FieldOptions & Change,
): JsonObject | undefined {
  const { [field]: before = null, ...rest } = row;
  if (change === 'remove') return rest;
  const after = OF_ROWS.has(change)
    ? otherValue(row, field, { rows, context, change })
    : valueAfter(before, { change, value });
  return after === undefined || after === before ? undefined : { ...row, [field]: after };
}

/** A way of changing a field. */
export interface Change {
  readonly change: ChangeName;
  readonly value?: WrongField['value'] | undefined;
}

/** Changes that take a value from another row, or from another time. */
const OF_ROWS: ReadonlySet<ChangeName> = new Set(['stale', 'other-row', 'other-login']);
const MONTH_SECONDS = 30 * 86_400;
const OF_ANY: readonly Change[] = [
  { change: 'set', value: null },
  { change: 'remove' },
  { change: 'retype' },
  { change: 'other-row' },
  { change: 'other-login' },
  { change: 'stale' },
];
const OF_NUMBERS: readonly Change[] = [
  { change: 'times', value: 1e6 },
  { change: 'times', value: 3 },
  { change: 'times', value: 1.3 },
  { change: 'times', value: -1 },
  { change: 'set', value: 0 },
  { change: 'plus', value: MONTH_SECONDS },
  { change: 'plus', value: -MONTH_SECONDS },
];
/** A text that no service sends. */
export const WRONG_TEXT = 'something-else';
const OF_TEXTS: readonly Change[] = [
  { change: 'other-row' },
  { change: 'set', value: '' },
  { change: 'set', value: WRONG_TEXT },
];

/** Returns the possible changes of such a value. */
export function changesOf(value: Json): readonly Change[] {
  const own = { number: OF_NUMBERS, string: OF_TEXTS }[typeof value as string] ?? [];
  return [...own, ...OF_ANY];
}

function changesFor(before: Json, { world, fault }: WrongContext): readonly Change[] {
  const { change, value } = fault.wrong;
  if (change !== null) return [{ change, value }];
  const choices = changesOf(before);
  const first = Math.floor(chance(world.seed, fault.id, 2) * choices.length);
  return [...choices.slice(first), ...choices.slice(0, first)];
}

/** Returns the changed value; undefined if the change does not apply to its type. */
function valueAfter(before: Json, { change, value }: Change): Json | undefined {
  switch (change) {
    case 'set':
      return value;
    case 'times':
      return typeof before === 'number' ? before * Number(value) : undefined;
    case 'plus':
      return typeof before === 'number' ? before + Number(value) : undefined;
    case 'retype':
      return retyped(before);
    default:
      return undefined;
  }
}

function retyped(before: Json): Json {
  if (typeof before === 'number') return 'many';
  if (typeof before === 'string') return 7;
  return typeof before === 'boolean' ? 'maybe' : [before];
}

interface OtherOptions extends WrongContext {
  readonly change: ChangeName;
}

function otherValue(
  row: JsonObject,
  field: string,
  { rows, context, change }: FieldOptions & Change,
): Json | undefined {
  if (field === NEW_CONTRACT) {
    const made = context.world.tables.contracts[Number(row[NEW_CONTRACT])];
    return made && contractsFor(made, { ...context, change })[0]?.id;
  }
  return ownValue(otherRow(row, rows, { ...context, change }) ?? {}, field);
}

/** Returns another row as the service would show it, preferably of the same reply. */
function otherRow(
  row: JsonObject,
  rows: readonly JsonObject[],
  options: OtherOptions,
): JsonObject | undefined {
  const { change, world } = options;
  if (change === 'other-row') {
    const at = rows.indexOf(row);
    const next = [...rows.slice(at + 1), ...rows.slice(0, at)][0];
    if (next) return next;
  }
  const contract = world.tables.contracts[Number(row[ID])];
  if (contract) {
    const [other] = contractsFor(contract, options);
    return other && instanceRow(other, { world, profile: 'public' });
  }
  const user = Object.values(world.tables.users).find(({ id }) => id !== row[ID]);
  const isUser = 'tfa_status' in row && world.tables.users[Number(row[ID])] !== undefined;
  return isUser && user && change !== 'stale' ? userRow(world, user, 'public') : undefined;
}

/** Returns the contracts that may be shown instead of this one, the nearest id first. */
function contractsFor(contract: Contract, { world, fault, change }: OtherOptions): readonly Contract[] {
  if (change === 'stale') return (fault.snapshot ?? []).filter(({ id }) => id === contract.id);
  if (change !== 'other-row' && change !== 'other-login') return [];
  return Object.values(world.tables.contracts)
    .filter(
      ({ id, userId }) => id !== contract.id && (userId === contract.userId) === (change === 'other-row'),
    )
    .sort((left, right) => Math.abs(left.id - contract.id) - Math.abs(right.id - contract.id));
}
