import type { ConditionType } from '../../api/v1alpha1/conditions.ts';
import type { Condition } from '../../api/v1alpha1/object.ts';
import { type ReasonEntry, reasons } from '../../api/v1alpha1/reasons.ts';
import type { ShownEvent } from '../objects/cluster-objects.ts';
import { ageText } from '../output/amounts.ts';
import { type Column, formatTable, type Paint, printable } from '../output/output.ts';

/** A small table inside a report. */
export interface ReportTable {
  readonly title: string;
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The report on one object: as JSON it is the same as for people. */
export interface StatusReport {
  readonly object: string;
  readonly namespace: string;
  /** Label and text, in the order in which they are shown. */
  readonly facts: readonly (readonly [label: string, text: string])[];
  /** What happens next, and what a person can do. */
  readonly next: readonly string[];
  readonly tables: readonly ReportTable[];
  readonly conditions: readonly Condition[];
  readonly events: readonly ShownEvent[];
}

/** The most pressing first. */
const PRESSING = ['terminal', 'retryable', 'progress', 'good'] as const;

/**
 * What happens next, from the conditions alone: what waits for a person, or else what goes on by itself. What is
 * only unknown, or at work, follows from what is wrong beside it; if all is as desired, nothing is in progress.
 */
export function nextSteps(
  conditions: readonly Condition[],
  types: Readonly<Record<string, ConditionType>>,
): readonly string[] {
  const wrong = conditions.filter((condition) => isWrong(condition, types));
  const certain = wrong.filter(({ status }) => status !== 'Unknown');
  const reasonsOf = new Set((certain.length > 0 ? certain : wrong).map(({ reason }) => reason));
  const isAsDesired = holds(conditions, 'Ready') && !holds(conditions, 'Reconciling');
  const entries = [...reasonsOf]
    .flatMap((reason) => entryOf(reason) ?? [])
    .filter(({ kind: each }) => !isAsDesired || each === 'terminal' || each === 'retryable');
  const kind = PRESSING.find((pressing) => entries.some((entry) => entry.kind === pressing));
  const pressing = entries.filter((entry) => entry.kind === kind);
  const causes = pressing.filter((entry) => !CONSEQUENCES.includes(entry));
  return (causes.length > 0 ? causes : pressing).map(stepOf);
}

/** What is so because of something else, which is said beside it. */
const CONSEQUENCES: readonly ReasonEntry[] = [reasons.NotRented, reasons.NotRunning];

function holds(conditions: readonly Condition[], type: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === 'True');
}

function isWrong({ type, status }: Condition, types: Readonly<Record<string, ConditionType>>): boolean {
  if (types[type]?.polarity === 'abnormal-true') return status === 'True';
  return status !== 'True';
}

function stepOf({ kind, remedy, sentence }: ReasonEntry): string {
  switch (kind) {
    case 'terminal':
      return `Waits for you: ${remedy ?? sentence}`;
    case 'retryable':
      return `Goes on by itself when the cause ends. ${remedy ?? ''}`.trim();
    case 'progress':
      return `The operator is at work: ${sentence}${remedy ? ` ${remedy}` : ''}`;
    case 'good':
      return sentence;
  }
}

/** The entry of the catalogue; a newer operator may know reasons that this program does not. */
function entryOf(reason: string): ReasonEntry | undefined {
  return Object.hasOwn(reasons, reason) ? reasons[reason as keyof typeof reasons] : undefined;
}

/** The report for people. `now`: epoch milliseconds, for ages. */
export function formatReport(report: StatusReport, { now, paint }: { now: number; paint: Paint }): string {
  const width = Math.max(...report.facts.map(([label]) => label.length), 4) + 2;
  const facts = [['Name', `${report.object} in ${report.namespace}`] as const, ...report.facts];
  const lines = facts.map(([label, text]) => `${`${label}:`.padEnd(width)}${printable(text)}\n`);
  const next = report.next.map((step, at) => `${(at === 0 ? 'Next:' : '').padEnd(width)}${step}\n`);
  return [
    ...lines,
    ...next,
    section('Conditions', conditionTable(conditionsOnce(report.conditions), now, paint)),
    ...report.tables.map(({ title, headers, rows }) => section(title, plainTable(headers, rows))),
    section('Events', eventTable(eventsOnce(report.events, report.conditions), now, paint)),
  ].join('');
}

/** Ready says why; what others say in the same words is said once. */
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

function section(title: string, body: string): string {
  return body === '' ? '' : `\n${title}:\n${body.replace(/^(?=.)/gm, '  ')}`;
}

function plainTable(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const columns = headers.map(
    (header, at): Column<readonly string[]> => ({ header, text: (row) => row[at] }),
  );
  return formatTable(columns, rows);
}

function conditionTable(conditions: readonly Condition[], now: number, paint: Paint): string {
  const byTime = conditions.toSorted((a, b) => a.lastTransitionTime.localeCompare(b.lastTransitionTime));
  const columns: readonly Column<Condition>[] = [
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
  return byTime.length === 0 ? '' : formatTable(columns, byTime);
}

const MAX_EVENTS = 12;

function eventTable(events: readonly ShownEvent[], now: number, paint: Paint): string {
  const columns: readonly Column<ShownEvent>[] = [
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
  return events.length === 0 ? '' : formatTable(columns, events.slice(-MAX_EVENTS));
}

/** How long ago a timestamp was. */
export function since(timestamp: string | undefined, now: number): string {
  const time = Date.parse(timestamp ?? '');
  return Number.isNaN(time) ? '-' : ageText(now - time);
}
