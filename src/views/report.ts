import * as z from 'zod';
import { type Condition, condition } from '../api/v1alpha1/object.ts';
import { ageText } from './amounts.ts';
import { type ShownEvent, shownEventSchema } from './events.ts';
import { printable } from './printable.ts';
import { type Column, formatTable, type Paint, type TableOptions } from './table.ts';

const reportTableSchema = z.strictObject({
  title: z.string(),
  headers: z.array(z.string()).readonly(),
  rows: z.array(z.array(z.string()).readonly()).readonly().describe('Cells as people read them.'),
});

/** A small table inside a report. */
export type ReportTable = Readonly<z.infer<typeof reportTableSchema>>;

/** A report as data for programs. */
export const reportSchema = z.strictObject({
  object: z.string().describe('`gpui/NAME`, `epg/NAME`, `gpuacct/NAME` or `gpubudget/NAME`.'),
  namespace: z.string(),
  next: z.array(z.string()).readonly().describe('Next steps of the operator, and actions for a person.'),
  tables: z
    .array(reportTableSchema)
    .readonly()
    .describe('Workers of a group, earlier machines of an instance, retained machines of an account.'),
  conditions: z.array(condition).readonly(),
  events: z.array(shownEventSchema).readonly().describe('Oldest first.'),
  facts: z.record(z.string(), z.string()).describe('Text by label, as people read them.'),
});

type ReportJson = Readonly<z.infer<typeof reportSchema>>;

/** The report on one object, the same in JSON as in text. */
export interface StatusReport extends Omit<ReportJson, 'facts'> {
  /** Labels and texts, in the order in which they are shown. */
  readonly facts: readonly (readonly [label: string, text: string])[];
}

export function reportJson({ facts, ...rest }: StatusReport): ReportJson {
  return { ...rest, facts: Object.fromEntries(facts) };
}

/** Text for an object that the operator has not reconciled yet. */
export const UNSEEN = 'not yet seen by the operator';

interface ReportOptions {
  /** Epoch milliseconds, for ages. */
  readonly now: number;
  readonly paint: Paint;
  /** Characters of a line on the terminal; undefined if lines may have any length. */
  readonly width?: number | undefined;
}

/** Returns the report as text. */
export function formatReport(report: StatusReport, { now, paint, width: lineWidth }: ReportOptions): string {
  const table: TableOptions = { wraps: true, width: lineWidth && lineWidth - INDENT.length };
  const width = Math.max(...report.facts.map(([label]) => label.length), 4) + 2;
  const facts = [['Name', `${report.object} in ${report.namespace}`] as const, ...report.facts];
  const lines = facts.map(([label, text]) => `${`${label}:`.padEnd(width)}${printable(text)}\n`);
  const next = report.next.map((step, at) => `${(at === 0 ? 'Next:' : '').padEnd(width)}${step}\n`);
  return [
    ...lines,
    ...next,
    section(
      'Conditions',
      formatTable(conditionColumns(now, paint), byTime(conditionsOnce(report.conditions)), table),
    ),
    ...report.tables.map(({ title, headers, rows }) =>
      section(title, formatTable(plainColumns(headers), rows, table)),
    ),
    section(
      'Events',
      formatTable(eventColumns(now, paint), latest(eventsOnce(report.events, report.conditions)), table),
    ),
  ].join('');
}

/** Returns true if the condition Ready has the same message: then it is shown once. */
function repeated(text: string, conditions: readonly Condition[]): boolean {
  const ready = conditions.find(({ type }) => type === 'Ready');
  return text !== '' && ready !== undefined && ready.message.startsWith(text);
}

function conditionsOnce(conditions: readonly Condition[]): readonly Condition[] {
  return conditions.map((condition) =>
    condition.type !== 'Ready' && repeated(condition.message, conditions)
      ? { ...condition, message: AS_READY }
      : condition,
  );
}

function eventsOnce(events: readonly ShownEvent[], conditions: readonly Condition[]): readonly ShownEvent[] {
  return events.map((event) => (repeated(event.note, conditions) ? { ...event, note: AS_READY } : event));
}

const AS_READY = '(as Ready)';

const INDENT = '  ';

/** Returns a section with a table; nothing if the table has no row. */
function section(title: string, table: string): string {
  const hasRows = table.indexOf('\n') < table.length - 1;
  return hasRows ? `\n${title}:\n${table.replace(/^(?=.)/gm, INDENT)}` : '';
}

function plainColumns(headers: readonly string[]): readonly Column<readonly string[]>[] {
  return headers.map((header, at) => ({ header, text: (row) => row[at] }));
}

function byTime(conditions: readonly Condition[]): readonly Condition[] {
  return conditions.toSorted((a, b) => a.lastTransitionTime.localeCompare(b.lastTransitionTime));
}

function conditionColumns(now: number, paint: Paint): readonly Column<Condition>[] {
  return [
    { header: 'Since', text: ({ lastTransitionTime }) => since(lastTransitionTime, now) },
    { header: 'Type', text: ({ type }) => type },
    {
      header: 'Status',
      text: ({ status }) => status,
      paint: (text, { status }) => paint(status === 'True' ? 'green' : 'yellow', text),
    },
    { header: 'Reason', text: ({ reason }) => reason },
    { header: 'Message', text: ({ message }) => message },
  ];
}

const MAX_EVENTS = 12;

const latest = (events: readonly ShownEvent[]): readonly ShownEvent[] => events.slice(-MAX_EVENTS);

function eventColumns(now: number, paint: Paint): readonly Column<ShownEvent>[] {
  return [
    { header: 'Ago', text: ({ at }) => since(at, now) },
    {
      header: 'Type',
      text: ({ type }) => type,
      paint: (text, { type }) => (type === 'Warning' ? paint('yellow', text) : text),
    },
    { header: 'Reason', text: ({ reason }) => reason },
    {
      header: 'Note',
      text: ({ note, count }) => `${note}${count > 1 ? ` (${count} times)` : ''}`,
    },
  ];
}

/** Returns the time since a timestamp as text. */
export function since(timestamp: string | undefined, now: number): string {
  const time = Date.parse(timestamp ?? '');
  return Number.isNaN(time) ? '-' : ageText(now - time);
}
