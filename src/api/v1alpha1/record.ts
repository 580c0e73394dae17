import * as z from 'zod';
import { canonicalJson, isJsonObject } from '../../lib/json.ts';
import { type StoredForm, storedForm, withStoredForm } from '../../lib/stored-form.ts';
import { text } from './schema.ts';

/** The version of the record that this operator writes. It reads this version and the form before it. */
const VERSION = 1;

/** Characters of `status.record` of a GpuInstance. */
export const MAX_RECORD = 16_384;

/** Returns the schema of `status.record`. */
export const recordField = (maxLength: number, more: string) =>
  text({ description: `Internal record of the operator, as JSON. ${more}`, maxLength });

/** Returns the schema of the parts of an object that people read. A person may have removed any of them. */
export const partOf = (object: z.ZodObject, keys: readonly string[]) =>
  z.object(Object.fromEntries(keys.map((key) => [key, object.shape[key] as z.ZodType]))).partial();

/** Returns the schema of the parts of an object that are not shown to people. */
export const restOf = (object: z.ZodObject, description: string) =>
  z.object(object.shape).partial().meta({ description }).optional();

type Json = Readonly<Record<string, unknown>>;

/** A row of a form: a stored field for people, and the fields of the status in memory that it shows. */
export interface FieldRow {
  /** The path below `status`. */
  readonly stored: string;
  /** Paths in memory. */
  readonly memory: readonly string[];
  /**
   * Returns the stored value, and the part of the values in memory that it does not contain. Undefined if it can
   * contain none of them.
   */
  readonly split: (values: readonly unknown[]) => Split | undefined;
  /** Returns the values in memory from the stored value and the record. Undefined for a value without information. */
  readonly join: (stored: unknown, rest: readonly unknown[]) => readonly unknown[] | undefined;
  /**
   * The record has only the rest of the value: it is left out if `join` returns nothing. `join` is also called without a
   * stored value.
   */
  readonly isSplit?: true;
}

interface Split {
  readonly stored: unknown;
  /** Paths that go into the record unchanged. */
  readonly rest?: readonly unknown[];
}

/** Returns the row of a field whose stored form is its form in memory. */
export function field(stored: string, memory: string = stored): FieldRow {
  return {
    stored,
    memory: [memory],
    split: ([value]) => ({ stored: value }),
    join: (value) => [value],
  };
}

/** Returns the row of fields that are stored as a text or a list of texts. */
export function written<V extends readonly unknown[]>(
  stored: string,
  memory: { readonly [K in keyof V]: string },
  {
    write,
    read,
  }: { readonly write: (...values: V) => unknown; readonly read: (stored: unknown) => V | undefined },
): FieldRow {
  return {
    stored,
    memory,
    split: (values) => {
      const shown = write(...(values as unknown as V));
      return shown === undefined ? undefined : { stored: shown };
    },
    join: (value) => read(value),
  };
}

/** Returns the row of a list whose entries show some keys; `missing` completes an entry that a person added. */
export function columns(name: string, keys: Readonly<Record<string, string>>, missing: Json): FieldRow {
  const shown = Object.entries(keys);
  const inMemory = new Set(Object.values(keys));
  return {
    stored: name,
    memory: [name],
    split: ([list]) => {
      const entries = (list as readonly Json[]).map((entry) => ({
        stored: Object.fromEntries(shown.flatMap(([key, own]) => (own in entry ? [[key, entry[own]]] : []))),
        rest: Object.fromEntries(Object.entries(entry).filter(([key]) => !inMemory.has(key))),
      }));
      const rest = entries.map((entry) => entry.rest);
      return { stored: entries.map((entry) => entry.stored), rest: [rest.length === 0 ? undefined : rest] };
    },
    isSplit: true,
    join: (stored, [rest]) => {
      if (!Array.isArray(stored)) return undefined;
      const remembered = Array.isArray(rest) && rest.length === stored.length ? rest : [];
      const entries = stored.filter(isJsonObject).map((entry, at) => ({
        ...(isJsonObject(remembered[at]) ? remembered[at] : missing),
        ...Object.fromEntries(shown.flatMap(([key, own]) => (key in entry ? [[own, entry[key]]] : []))),
      }));
      return [entries];
    },
  };
}

/**
 * Returns the row of an object with some keys for people; `missing` completes an object whose record or stored part is
 * lost.
 */
export function group(name: string, keys: readonly string[], missing: Json): FieldRow {
  const isShown = ([key]: readonly [string, unknown]): boolean => keys.includes(key);
  return {
    stored: name,
    memory: [name],
    split: ([value]) => {
      const entries = Object.entries(value as Json);
      const rest = entries.filter((entry) => !isShown(entry));
      return {
        stored: Object.fromEntries(entries.filter(isShown)),
        rest: [rest.length === 0 ? undefined : Object.fromEntries(rest)],
      };
    },
    isSplit: true,
    // Another key in the stored part would go into the record, and could make it unreadable.
    join: (stored = {}, [rest]) => {
      if (!isJsonObject(stored)) return undefined;
      const shown = Object.fromEntries(Object.entries(stored).filter(isShown));
      return [{ ...missing, ...(isJsonObject(rest) ? rest : {}), ...shown }];
    },
  };
}

/** Stored form of a kind's status: rows for people, and the record for the rest. */
export interface StatusForm {
  readonly rows: readonly FieldRow[];
  /** The schema of the record, without `v`. */
  readonly record: z.ZodObject;
  /** The status in memory; before the record it was also the stored form. */
  readonly memory: z.ZodObject;
  /** Condition types whose generation is the one of the status. */
  readonly conditions: ReadonlySet<string>;
  /** Characters of the record. */
  readonly maxRecord: number;
  /** Keys of the record that are dropped, in this order, if it is too long. */
  readonly dropped: readonly string[];
  /** Stored fields that are useless without the record. */
  readonly needRecord: readonly string[];
}

/**
 * Returns the status as the API server stores it. It keeps the unknown keys and the newer record of the status that was
 * read, and drops optional keys if the record is too long.
 */
export function encodeStatus(form: StatusForm, status: Json): Json {
  const rest: Record<string, unknown> = { ...status };
  const stored: Record<string, unknown> = {};
  for (const { stored: path, memory, split } of form.rows) {
    const values = memory.map((from) => valueAt(rest, from));
    if (values.every((value) => value === undefined)) continue;
    const shown = split(values);
    if (!shown) continue;
    put(stored, path, shown.stored);
    for (const [at, from] of memory.entries()) replace(rest, from, shown.rest?.[at]);
  }
  if (stored['conditions'] !== undefined)
    stored['conditions'] = withoutGeneration(form, stored['conditions'], status['observedGeneration']);
  const { problem, unknown } = storedForm(status) ?? {};
  const record = problem?.type === 'newer' ? problem.text : recordText(form, { ...unknown, ...rest });
  return record === undefined ? stored : { ...stored, record };
}

/** Returns the text of the record; undefined if there is nothing to record. */
function recordText({ dropped, maxRecord }: StatusForm, fields: Json): string | undefined {
  const kept = { ...fields };
  const droppable = [...dropped];
  for (;;) {
    const body = canonicalJson(kept);
    if (body === '{}') return undefined;
    const record = `{"v":${VERSION},${body.slice(1)}`;
    const next = droppable.shift();
    if (record.length <= maxRecord || next === undefined) return record;
    delete kept[next];
  }
}

/**
 * Returns the status in memory of a stored one. Never throws: an unreadable record is left out with the fields that are
 * useless without it, and {@link storedForm} reports it.
 */
export function decodeStatus(form: StatusForm, stored: Json): Json {
  const reading = readRecord(form, stored);
  if (reading.type === 'flat') return withStoredForm(ownFields(form.memory, stored), formOf(reading));
  const status: Record<string, unknown> = reading.type === 'read' ? { ...reading.fields } : {};
  const ignored = new Set(reading.type === 'unreadable' ? form.needRecord : []);
  for (const { stored: path, memory, join, isSplit } of form.rows) {
    const value = ignored.has(path) ? undefined : valueAt(stored, path);
    const rest = memory.map((to) => valueAt(status, to));
    if (value === undefined && !(isSplit && rest.some((part) => part !== undefined))) continue;
    const values = join(value, rest);
    for (const [at, to] of memory.entries())
      if (values?.[at] !== undefined) put(status, to, values[at]);
      else if (isSplit) replace(status, to, undefined);
  }
  if (status['conditions'] !== undefined)
    status['conditions'] = withGeneration(form, status['conditions'], status['observedGeneration']);
  return withStoredForm(status, formOf(reading));
}

/** Returns the fields of a flat status without those that only earlier versions had. */
function ownFields({ shape }: z.ZodObject, stored: Json): Json {
  return Object.fromEntries(Object.entries(stored).filter(([key]) => Object.hasOwn(shape, key)));
}

type Reading =
  | { readonly type: 'none' | 'flat' | 'unreadable' }
  | { readonly type: 'newer'; readonly version: number; readonly text: string }
  | { readonly type: 'read'; readonly fields: Json; readonly unknown: Json };

function readRecord(form: StatusForm, status: Json): Reading {
  const { record } = form;
  const stored = status['record'];
  if (stored === undefined && !isFlat(form, status)) return { type: 'none' };
  if (stored === undefined) return { type: form.memory.safeParse(status).success ? 'flat' : 'unreadable' };
  const content = typeof stored === 'string' ? parsed(stored) : undefined;
  if (typeof stored !== 'string' || !isJsonObject(content)) return { type: 'unreadable' };
  const { v: version, ...rest } = content;
  if (typeof version !== 'number' || !Number.isInteger(version) || version < 1) return { type: 'unreadable' };
  if (version > VERSION) return { type: 'newer', version, text: stored };
  const fields = Object.fromEntries(Object.entries(rest).filter(([key]) => Object.hasOwn(record.shape, key)));
  if (!record.safeParse(fields).success) return { type: 'unreadable' };
  const unknown = Object.fromEntries(
    Object.entries(rest).filter(([key]) => !Object.hasOwn(record.shape, key)),
  );
  return { type: 'read', fields, unknown };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function formOf(reading: Reading): StoredForm | undefined {
  switch (reading.type) {
    case 'none':
      return undefined;
    case 'flat':
      return { isOutdated: true };
    case 'unreadable':
      return { isOutdated: true, problem: { type: 'unreadable' } };
    case 'newer':
      return { isOutdated: false, problem: reading };
    case 'read':
      return Object.keys(reading.unknown).length === 0
        ? undefined
        : { isOutdated: false, unknown: reading.unknown };
  }
}

/** Returns true for a status from before the record: every field is stored by itself. */
function isFlat({ rows, memory }: StatusForm, stored: Json): boolean {
  const names = new Map(rows.map(({ stored: path }) => [rootOf(path), path.includes('.')]));
  return Object.entries(stored).some(([key, value]) => {
    const isGrouped = names.get(key);
    if (isGrouped === undefined) return Object.hasOwn(memory.shape, key);
    return isGrouped && !isJsonObject(value);
  });
}

function withoutGeneration({ conditions }: StatusForm, list: unknown, generation: unknown): unknown {
  return (list as readonly Json[]).map((condition) => {
    if (condition['observedGeneration'] !== generation || !conditions.has(String(condition['type'])))
      return condition;
    const { observedGeneration: _same, ...rest } = condition;
    return rest;
  });
}

function withGeneration({ conditions }: StatusForm, list: unknown, generation: unknown): readonly Json[] {
  const entries = Array.isArray(list) ? list.filter(isJsonObject) : [];
  return entries.map((condition) =>
    generation !== undefined && conditions.has(String(condition['type']))
      ? { observedGeneration: generation, ...condition }
      : condition,
  );
}

const rootOf = (path: string): string => path.split('.')[0] ?? path;

function valueAt(object: Json, path: string): unknown {
  let value: unknown = object;
  for (const key of path.split('.'))
    value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

function put(object: Record<string, unknown>, path: string, value: unknown): void {
  const [key = path, ...rest] = path.split('.');
  if (rest.length === 0) object[key] = value;
  else {
    const child = object[key];
    const copy: Record<string, unknown> = isJsonObject(child) ? { ...child } : {};
    put(copy, rest.join('.'), value);
    object[key] = copy;
  }
}

/** Sets the rest of a value; removes an object without keys. */
function replace(object: Record<string, unknown>, path: string, value: unknown): void {
  const [key = path, ...rest] = path.split('.');
  const child = object[key];
  if (rest.length > 0 && isJsonObject(child)) {
    const copy: Record<string, unknown> = { ...child };
    replace(copy, rest.join('.'), value);
    if (Object.keys(copy).length > 0) object[key] = copy;
    else delete object[key];
  } else if (rest.length === 0 && value !== undefined) object[key] = value;
  else if (rest.length === 0) delete object[key];
}
